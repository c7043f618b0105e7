/* SPDX-License-Identifier: Apache-2.0 */
/** Includes every public header of the library. */
#ifndef QUIRE_QUIRE_H
#define QUIRE_QUIRE_H
#include <quire/adapter.h>
#include <quire/attention.h>
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>
#include <quire/beam_search.h>
#include <quire/bias.h>
#include <quire/chat_output.h>
#include <quire/chat_template.h>
#include <quire/cpu.h>
#include <quire/engine.h>
#include <quire/engine_adapter.h>
#include <quire/engine_cache.h>
#include <quire/engine_request.h>
#include <quire/event_callback.h>
#include <quire/grammar.h>
#include <quire/kv_cache.h>
#include <quire/markov_head.h>
#include <quire/mla.h>
#include <quire/model.h>
#include <quire/onednn.h>
#include <quire/prompt_part.h>
#include <quire/sampling.h>
#include <quire/state_pool.h>
#include <quire/status.h>
#include <quire/text_span.h>
#include <quire/threads.h>
#include <quire/tokenizer.h>

#endif
