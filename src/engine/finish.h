/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h - ends answers, and publishes the results of a step to the consumers of events. */
#ifndef QR_ENGINE_FINISH_H
#define QR_ENGINE_FINISH_H
#include "engine/types.h"

/* The answer has something to publish at the end of the step. */
void qr_request_touch(struct quire_engine *e, struct qr_request *r);

/* Ends an answer that the scheduler knows: no token follows. Its blocks stay in the prefix
 * cache. */
void qr_request_finish(struct quire_engine *e, struct qr_request *r,
                       enum quire_finish_reason reason);

/* Flushes the detokenizer and a partial stop string into the output text, then finishes. A failure
 * of the flush becomes the answer's failure. */
void qr_request_flush_and_finish(struct quire_engine *e, struct qr_request *r,
                                 enum quire_finish_reason reason);

/* Ends an answer with QUIRE_FINISH_ERROR and keeps the message. */
void qr_request_fail(struct quire_engine *e, struct qr_request *r, quire_status status,
                     const struct quire_error *err);

/* Ends an answer after a failed forward pass: its memory has undefined contents. */
void qr_request_fail_and_discard(struct quire_engine *e, struct qr_request *r, quire_status status,
                                 const struct quire_error *err);

/* Ends an answer that the scheduler does not know any more. */
void qr_request_mark_finished(struct quire_engine *e, struct qr_request *r,
                              enum quire_finish_reason reason);
void qr_request_mark_failed(struct quire_engine *e, struct qr_request *r, quire_status status,
                            const struct quire_error *err);

/* Makes the changes of the step visible. */
void qr_publish(struct quire_engine *e);

#endif
