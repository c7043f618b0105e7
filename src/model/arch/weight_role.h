/* SPDX-License-Identifier: Apache-2.0 */
/* weight_role.h - the weights of a transformer, named independently of the file format. */
#ifndef QR_MODEL_ARCH_WEIGHT_ROLE_H
#define QR_MODEL_ARCH_WEIGHT_ROLE_H

/* The forward pass addresses a weight by role and layer. Fused tensors are split by role: ATTN_Q of
 * a model with a fused qkv tensor is its q rows. Global roles use layer 0. Matrices are
 * [out features][in features]. A stack holds one matrix or vector per head or per expert. */
enum qr_weight_role {
    /* global */
    QR_W_TOKEN_EMBD, /* [vocab][hidden], as all tables [hidden or embedding_size] */
    QR_W_OUTPUT,     /* LM head, [vocab][hidden]; absent with tied embeddings: use TOKEN_EMBD */
    QR_W_OUTPUT_BIAS,
    QR_W_OUTPUT_GAIN, /* [1]: multiplies the logits */
    QR_W_OUTPUT_NORM, /* final norm */
    QR_W_OUTPUT_NORM_BIAS,
    QR_W_POS_EMBD,
    QR_W_TYPE_EMBD,
    QR_W_EMBD_NORM,
    QR_W_EMBD_NORM_BIAS,
    QR_W_EMBD_SHIFT, /* [hidden]: added to the embeddings; their product with SCALE follows */
    QR_W_EMBD_SCALE,
    QR_W_EMBD_PROJ, /* [hidden][embedding_size] */
    QR_W_EMBD_PROJ_BIAS,
    QR_W_DISTANCE_EMBD, /* [2 span][hidden]; embeddings of distances, see qr_disentangled_config */
    QR_W_DISTANCE_NORM,
    QR_W_DISTANCE_NORM_BIAS,
    QR_W_HEAD_DENSE, /* [hidden][hidden]; masked LM head: dense, activation, norm, output */
    QR_W_HEAD_DENSE_BIAS,
    QR_W_HEAD_NORM,
    QR_W_HEAD_NORM_BIAS,
    QR_W_POOLER, /* [hidden][hidden] */
    QR_W_POOLER_BIAS,
    QR_W_ENC_TOKEN_EMBD, /* ENC_*: encoder of an encoder-decoder */
    QR_W_ENC_POS_EMBD,
    QR_W_ENC_EMBD_NORM,
    QR_W_ENC_EMBD_NORM_BIAS,
    QR_W_ENC_OUTPUT_NORM,
    QR_W_ENC_OUTPUT_NORM_BIAS,
    QR_W_CLASS_DENSE, /* [hidden][hidden]; classification head of sequences, see qr_class_head */
    QR_W_CLASS_DENSE_BIAS,
    QR_W_CLASS_OUT, /* [labels][hidden] */
    QR_W_CLASS_OUT_BIAS,
    /* dense layers behind the pooling of embeddings, qr_dense_config: [out][in] */
    QR_W_DENSE_0,
    QR_W_DENSE_1,
    QR_W_DENSE_2,
    QR_W_DENSE_3,
    QR_W_DENSE_0_BIAS,
    QR_W_DENSE_1_BIAS,
    QR_W_DENSE_2_BIAS,
    QR_W_DENSE_3_BIAS,
    QR_W_PLE_EMBD,      /* [ple vocab][layers * ple dim]; per-layer embeddings, see qr_ple_config */
    QR_W_PLE_PROJ,      /* [layers * ple dim][hidden] */
    QR_W_PLE_NORM,      /* [ple dim] */
    QR_W_ALTUP_PROJ,    /* stack of [hidden][hidden]: the first stream to each other one */
    QR_W_ALTUP_UNEMBED, /* stack of [hidden][hidden]: each other stream to the final norm */
    /* hyper-connections, of what enters the final norm: as HYPER_ATTN_* */
    QR_W_HYPER_OUT_NORM,
    QR_W_HYPER_OUT_DOWN,
    QR_W_HYPER_OUT_UP,
    QR_W_HYPER_OUT_MIX,   /* [streams][streams * hidden] */
    QR_W_HYPER_OUT_BASE,  /* [streams] */
    QR_W_HYPER_OUT_SCALE, /* [1] */
    /* head of multi-token prediction in files of its own, see qr_mtp_config */
    QR_W_MTP_POST,      /* [base size][hidden] */
    QR_W_MTP_CENTROIDS, /* [clusters][hidden] */
    QR_W_MTP_ORDER, /* [outputs] integers: the token of each row, of clusters one after another */
    QR_W_MTP_FEATURE_NORMS, /* stack of [base size], one per feature */
    QR_W_MTP_MARKOV_IN,     /* [vocab][markov rank] */
    QR_W_MTP_MARKOV_OUT,    /* [outputs][markov rank] */
    QR_W_MTP_SELECT,        /* [markov rank][hidden] */
    QR_W_MTP_CONFIDENCE,    /* [1][hidden, or hidden + markov rank] */
    QR_W_MTP_CONFIDENCE_BIAS,
    QR_W_FIRST_LAYER_ROLE,
    /* per layer */
    QR_W_ATTN_NORM = QR_W_FIRST_LAYER_ROLE,
    QR_W_ATTN_NORM_BIAS,
    QR_W_ATTN_Q, /* [n_heads * head_dim][hidden or q_lora_rank]; shared blocks: [2 hidden] */
    QR_W_ATTN_Q_BIAS,
    QR_W_ATTN_K, /* [n_kv_heads * head_dim][hidden] */
    QR_W_ATTN_K_BIAS,
    QR_W_ATTN_V, /* [n_kv_heads * v_head_dim][hidden] */
    QR_W_ATTN_V_BIAS,
    QR_W_ATTN_O, /* [hidden][n_heads * v_head_dim] */
    QR_W_ATTN_O_BIAS,
    QR_W_ATTN_Q_NORM, /* [head_dim], or [n_heads * head_dim] for a norm over all heads */
    QR_W_ATTN_K_NORM,
    QR_W_ATTN_Q_NORM_BIAS,
    QR_W_ATTN_K_NORM_BIAS,
    QR_W_ATTN_Q_NORMS, /* stack of [head_dim], one vector per head; K: per KV head */
    QR_W_ATTN_K_NORMS,
    QR_W_ATTN_SINKS,    /* [n_heads] */
    QR_W_ATTN_SUB_NORM, /* [n_heads * v_head_dim], norm of the input of O */
    QR_W_ATTN_GATE, /* [n_heads * v_head_dim or n_heads][hidden]: gate of the attention output */
    QR_W_ATTN_POST_NORM,
    QR_W_ATTN_POST_NORM_BIAS,
    QR_W_ATTN_POST_NORM_2, /* second_post_norm */
    QR_W_ATTN_POST_NORM_2_BIAS,
    QR_W_ATTN_LAMBDA_Q1, /* [head_dim]; differential attention */
    QR_W_ATTN_LAMBDA_K1,
    QR_W_ATTN_LAMBDA_Q2,
    QR_W_ATTN_LAMBDA_K2,
    QR_W_ATTN_KEY_DT, /* [n_kv_heads][n_kv_heads * v_head_dim]; bias of keys */
    QR_W_ATTN_KEY_DT_BIAS,
    QR_W_ATTN_KEY_A,    /* [n_kv_heads] */
    QR_W_ATTN_RESIDUAL, /* [hidden]: multiplies x before the output is added */
    /* [hidden]: added to x before that, and likewise of the output; in this order (add_affine) */
    QR_W_ATTN_RESIDUAL_SHIFT,
    QR_W_ATTN_OUT_SCALE,
    QR_W_ATTN_OUT_SHIFT,
    /* convolutional attention, qr_conv_attention_config. Channels: those of q, then of k */
    QR_W_ATTN_V_DELAYED, /* [half of n_kv_heads * v_head_dim][hidden]; V is the other half */
    QR_W_ATTN_V_DELAYED_BIAS,
    QR_W_ATTN_CONV, /* [channels][channel taps], newest tap last */
    QR_W_ATTN_CONV_BIAS,
    QR_W_ATTN_CONV_HEADS, /* stack of [head_dim][head_dim][head taps], one per head of q and k */
    QR_W_ATTN_CONV_HEADS_BIAS, /* [channels] */
    QR_W_ATTN_K_SCALE,         /* [n_kv_heads]: multiplies the keys of unit length */
    QR_W_ATTN_REL_BIAS, /* [buckets][n_heads], in the first layer of the encoder or decoder */
    /* multi-head latent attention, instead of K and V; stacks hold one matrix per head */
    QR_W_LATENT_Q_A,     /* [q_lora_rank][hidden] */
    QR_W_LATENT_Q_NORM,  /* [q_lora_rank] */
    QR_W_LATENT_KV_A,    /* [kv_lora_rank + qk_rope_dim][hidden] */
    QR_W_LATENT_KV_NORM, /* [kv_lora_rank] */
    QR_W_LATENT_UK,      /* stack of [kv_lora_rank][qk_nope_dim]: W_UK transposed */
    QR_W_LATENT_UK_ROWS, /* stack of [qk_nope_dim][kv_lora_rank]: W_UK, for expanded keys */
    QR_W_LATENT_UV,      /* stack of [v_head_dim][kv_lora_rank] */
    /* attention with shared keys and values */
    QR_W_ATTN_O_A, /* stack of [o_rank][n_heads * head_dim / o_groups], one per group */
    /* compressed keys and values; SERIES is head_dim, or 2 head_dim with overlap */
    QR_W_COMPRESS_KV,   /* [SERIES][hidden] */
    QR_W_COMPRESS_GATE, /* [SERIES][hidden] */
    QR_W_COMPRESS_BIAS, /* [rate][SERIES] */
    QR_W_COMPRESS_NORM, /* [head_dim] */
    /* indexer of sparse attention */
    QR_W_INDEX_Q,      /* [index heads * head_dim][q_lora_rank or hidden] */
    QR_W_INDEX_Q_NORM, /* [head_dim] */
    QR_W_INDEX_K,      /* [head_dim][hidden] */
    QR_W_INDEX_K_NORM, /* [head_dim] */
    QR_W_INDEX_K_NORM_BIAS,
    QR_W_INDEX_WEIGHTS,     /* [index heads][hidden] */
    QR_W_INDEX_COMPRESS_KV, /* [2 head_dim][hidden]; as COMPRESS_* */
    QR_W_INDEX_COMPRESS_GATE,
    QR_W_INDEX_COMPRESS_BIAS, /* [rate][2 head_dim] */
    QR_W_INDEX_LAST = QR_W_INDEX_COMPRESS_BIAS,
    QR_W_CROSS_NORM, /* CROSS_*: cross attention, shapes as for ATTN_* */
    QR_W_CROSS_NORM_BIAS,
    QR_W_CROSS_Q,
    QR_W_CROSS_Q_BIAS,
    QR_W_CROSS_K,
    QR_W_CROSS_K_BIAS,
    QR_W_CROSS_V,
    QR_W_CROSS_V_BIAS,
    QR_W_CROSS_O,
    QR_W_CROSS_O_BIAS,
    QR_W_CROSS_POST_NORM,
    QR_W_CROSS_POST_NORM_BIAS,
    /* recurrent layers; dt is the step size of Mamba and the decay input of the delta rule. Their
     * number per channel, head or key element is DT below. */
    QR_W_REC_Q,      /* [n_key_heads * key_dim][hidden]; short convolution: [hidden][hidden] */
    QR_W_REC_K,      /* as Q; WKV6: [n_kv_heads * key_dim][hidden] */
    QR_W_REC_V,      /* [n_heads * value_dim][hidden]; WKV6: [n_kv_heads * value_dim][hidden] */
    QR_W_REC_Z,      /* gate, [n_heads * value_dim][hidden or gate_rank] */
    QR_W_REC_Z_A,    /* [gate_rank][hidden] */
    QR_W_REC_DT,     /* [DT][hidden or dt_rank] */
    QR_W_REC_DT_A,   /* [dt_rank][hidden] */
    QR_W_REC_BETA,   /* [n_heads][hidden] */
    QR_W_REC_X,      /* Mamba-1: [dt_rank + 2 key_dim][channels], rows of dt, B and C */
    QR_W_REC_OUT,    /* [hidden][n_heads * value_dim] */
    QR_W_REC_CONV_Q, /* [channels of q][taps], newest tap last; likewise k and v */
    QR_W_REC_CONV_K,
    QR_W_REC_CONV_V,
    QR_W_REC_CONV_Q_BIAS,
    QR_W_REC_CONV_K_BIAS,
    QR_W_REC_CONV_V_BIAS,
    QR_W_REC_A,       /* [n_heads]; Mamba-1: [channels][key_dim] */
    QR_W_REC_D,       /* [n_heads] */
    QR_W_REC_DT_BIAS, /* [DT] */
    QR_W_REC_DT_NORM, /* [dt_rank] */
    QR_W_REC_B_NORM,  /* [key_dim] */
    QR_W_REC_C_NORM,
    QR_W_REC_NORM, /* [norm_dim] per head, or [n_heads * value_dim] */
    QR_W_REC_NORM_BIAS,
    /* [hidden]: parts of the token itself in the shifted inputs of K, V and Z; WKV6, WKV7: of the
     * token before it, also in those of Q, DT_A and RATE_A; VALUE_A reads that of V */
    QR_W_REC_MIX_K,
    QR_W_REC_MIX_V,
    QR_W_REC_MIX_Z,
    QR_W_REC_MIX_Q,
    QR_W_REC_MIX_DT,
    QR_W_REC_MIX_RATE,
    /* WKV7 */
    QR_W_REC_RATE_A,     /* [rate_rank][hidden] */
    QR_W_REC_RATE,       /* [keys][rate_rank] */
    QR_W_REC_RATE_BIAS,  /* [keys] */
    QR_W_REC_VALUE_A,    /* [value_rank][hidden], in all layers but the first */
    QR_W_REC_VALUE,      /* [values][value_rank] */
    QR_W_REC_VALUE_BIAS, /* [values] */
    QR_W_REC_KEY_READ,   /* [keys]: factors of the keys that are read and removed */
    QR_W_REC_KEY_RATE,   /* [keys]: the part of the rates that keys are multiplied by */
    QR_W_REC_BONUS,      /* [keys]: weights of the token's own key and query; WKV6, too */
    /* WKV6: the input that MIX_X mixes gives each of the parts DT, K, V, Q and Z a correction, the
     * product of its rows of MIX_A, tanh, and a matrix of the stack MIX_B, in this order */
    QR_W_REC_MIX_X, /* [hidden] */
    QR_W_REC_MIX_A, /* [5 mix_rank][hidden] */
    QR_W_REC_MIX_B, /* [hidden][mix_rank] */
    QR_W_REC_Q_BIAS,
    QR_W_REC_K_BIAS,
    QR_W_REC_V_BIAS,
    QR_W_REC_Z_BIAS,
    QR_W_REC_OUT_BIAS,
    /* RG-LRU: gates of the input and the decay, stacks of [value_dim][value_dim], one per head */
    QR_W_REC_GATE_I,
    QR_W_REC_GATE_A,
    QR_W_REC_GATE_I_BIAS, /* [n_heads * value_dim] */
    QR_W_REC_GATE_A_BIAS,
    QR_W_REC_LAST = QR_W_REC_GATE_A_BIAS,
    /* layers with a shared block; a low-rank update of a projection is B A */
    QR_W_BLOCK_NORM,      /* [2 hidden] */
    QR_W_BLOCK_OUT,       /* [hidden][hidden] */
    QR_W_LOW_RANK_Q_A,    /* [rank][2 hidden] */
    QR_W_LOW_RANK_Q_B,    /* [n_heads * head_dim][rank] */
    QR_W_LOW_RANK_K_A,    /* [rank][2 hidden] */
    QR_W_LOW_RANK_K_B,    /* [n_kv_heads * head_dim][rank] */
    QR_W_LOW_RANK_V_A,    /* [rank][2 hidden] */
    QR_W_LOW_RANK_V_B,    /* [n_kv_heads * v_head_dim][rank] */
    QR_W_LOW_RANK_FFN_A,  /* [rank][hidden], of gate and up */
    QR_W_LOW_RANK_GATE_B, /* [ffn][rank] */
    QR_W_LOW_RANK_UP_B,   /* [ffn][rank] */
    QR_W_LOW_RANK_LAST = QR_W_LOW_RANK_UP_B,
    /* head of multi-token prediction */
    QR_W_MTP_EMBD_NORM,   /* [hidden] */
    QR_W_MTP_HIDDEN_NORM, /* [hidden] */
    QR_W_MTP_INPUT_NORM,  /* [columns of PROJ] */
    QR_W_MTP_PROJ,        /* [hidden][2 hidden, 2 base size or features * base size] */
    QR_W_MTP_NORM,        /* [hidden]: final norm of one of several heads */
    QR_W_MTP_OUTPUT,      /* [vocab][hidden]; absent: the LM head of the model */
    /* convolutions before and behind the sublayers of a block drafter (block_conv.h) */
    QR_W_MTP_ATTN_CONV,      /* [2][taps][hidden] */
    QR_W_MTP_ATTN_CONV_PROJ, /* [2 * taps * groups][hidden] */
    QR_W_MTP_FFN_CONV,
    QR_W_MTP_FFN_CONV_PROJ,
    QR_W_FFN_NORM,
    QR_W_FFN_NORM_BIAS,
    QR_W_FFN_GATE, /* [ffn][hidden] */
    QR_W_FFN_GATE_BIAS,
    QR_W_FFN_UP, /* [ffn][hidden] */
    QR_W_FFN_UP_BIAS,
    QR_W_FFN_DOWN, /* [hidden][ffn] */
    QR_W_FFN_DOWN_BIAS,
    QR_W_FFN_SUB_NORM, /* [ffn], norm of the input of DOWN */
    QR_W_FFN_Z,        /* [hidden][hidden], gate of the output */
    QR_W_FFN_MIX_UP,   /* [hidden]: as REC_MIX_* for UP and Z */
    QR_W_FFN_MIX_Z,
    QR_W_FFN_XIELU_P, /* [1]; parameters of the activation, struct qr_xielu */
    QR_W_FFN_XIELU_N,
    QR_W_FFN_XIELU_BETA,
    QR_W_FFN_XIELU_EPS,
    QR_W_FFN_POST_NORM,
    QR_W_FFN_POST_NORM_BIAS,
    QR_W_FFN_RESIDUAL, /* [hidden], as ATTN_RESIDUAL and the roles behind it */
    QR_W_FFN_RESIDUAL_SHIFT,
    QR_W_FFN_OUT_SCALE,
    QR_W_FFN_OUT_SHIFT,
    /* mixture of experts; stacks hold one matrix or vector per expert */
    QR_W_ROUTER, /* [experts][hidden or router hidden] */
    QR_W_ROUTER_BIAS,
    QR_W_ROUTER_TABLE,      /* [vocab][top_k] integers: the experts of each token */
    QR_W_ROUTER_CORRECTION, /* [experts], added to the scores for expert selection only */
    QR_W_EXPERT_GATE,       /* stack of [expert ffn][hidden or latent] */
    QR_W_EXPERT_GATE_BIAS,
    QR_W_EXPERT_UP, /* stack of [expert ffn][hidden or latent] */
    QR_W_EXPERT_UP_BIAS,
    QR_W_EXPERT_DOWN, /* stack of [hidden or latent][expert ffn] */
    QR_W_EXPERT_DOWN_BIAS,
    QR_W_ADJUGATE_GATE, /* stacks as of experts, one matrix per group of experts: qr_moe_config */
    QR_W_ADJUGATE_UP,
    QR_W_ADJUGATE_DOWN,
    QR_W_EXPERT_LATENT_IN,  /* [latent][hidden]: what the experts read, see qr_moe_config */
    QR_W_EXPERT_LATENT_OUT, /* [hidden][latent], of their weighted sum */
    QR_W_EXPERT_SUM_BIAS,   /* [hidden], added to the weighted sum of the experts */
    QR_W_SHARED_ROUTER,     /* [1][hidden]: gate of the shared expert */
    QR_W_SHARED_GATE,       /* [shared ffn][hidden] */
    QR_W_SHARED_UP,         /* [shared ffn][hidden] */
    QR_W_SHARED_DOWN,       /* [hidden][shared ffn] */
    QR_W_ROUTER_SCALE,      /* [hidden], of a normalized router input */
    QR_W_EXPERT_SCALE,      /* [experts], factors of the selected weights */
    QR_W_EXPERT_NORM,       /* [hidden], norms of experts beside a dense network */
    QR_W_EXPERT_POST_NORM,
    QR_W_FFN_DENSE_POST_NORM,
    /* router with layers of its own before ROUTER: qr_moe_config */
    QR_W_ROUTER_IN, /* [router hidden][hidden] */
    QR_W_ROUTER_IN_BIAS,
    QR_W_ROUTER_CARRY, /* [router hidden]: factors of the router's state of the layer before */
    QR_W_ROUTER_NORM,  /* [router hidden] */
    QR_W_ROUTER_FC1,   /* [router hidden][router hidden] */
    QR_W_ROUTER_FC1_BIAS,
    QR_W_ROUTER_FC2,
    QR_W_ROUTER_FC2_BIAS,
    QR_W_FFN_LAST = QR_W_ROUTER_FC2_BIAS,
    /* behind the sublayers */
    QR_W_PLE_GATE, /* [ple dim][hidden] */
    QR_W_PLE_OUT,  /* [hidden][ple dim] */
    QR_W_PLE_POST_NORM,
    QR_W_LAYER_SCALE, /* [1] */
    /* qr_model_config.gains */
    QR_W_QUERY_GAIN, /* [n_heads] */
    QR_W_ATTN_GAIN,  /* [1], as the two behind it */
    QR_W_FFN_GAIN,
    QR_W_EMBD_GAIN,
    QR_W_LAUREL_LEFT,  /* [laurel rank][hidden] */
    QR_W_LAUREL_RIGHT, /* [hidden][laurel rank] */
    QR_W_LAUREL_POST_NORM,
    QR_W_ALTUP_ROUTER, /* [streams][hidden] */
    QR_W_ALTUP_ROUTER_NORM,
    QR_W_ALTUP_PREDICT, /* [streams * streams][streams], rows (from, to) */
    QR_W_ALTUP_CORRECT, /* [streams][streams] */
    QR_W_ALTUP_SCALE,   /* [hidden] */
    /* hyper-connections, of the input and output of a sublayer */
    QR_W_HYPER_ATTN_NORM,   /* [streams * hidden] */
    QR_W_HYPER_ATTN_DOWN,   /* [rank][streams * hidden] */
    QR_W_HYPER_ATTN_UP,     /* [streams * hidden][rank] */
    QR_W_HYPER_ATTN_INJECT, /* [streams][streams * hidden] */
    QR_W_HYPER_ATTN_MIX,    /* [(2 + streams) * streams][streams * hidden] */
    QR_W_HYPER_ATTN_BASE,   /* [(2 + streams) * streams] */
    QR_W_HYPER_ATTN_SCALE,  /* [3] */
    QR_W_HYPER_FFN_NORM,
    QR_W_HYPER_FFN_DOWN,
    QR_W_HYPER_FFN_UP,
    QR_W_HYPER_FFN_INJECT,
    QR_W_HYPER_FFN_MIX,
    QR_W_HYPER_FFN_BASE,
    QR_W_HYPER_FFN_SCALE,
    /* embeddings of n-grams; see qr_ngram_config */
    QR_W_NGRAM_EMBD,       /* stack of [rows][dim / heads], one matrix per part */
    QR_W_NGRAM_KEY,        /* [streams * hidden][dim] */
    QR_W_NGRAM_VALUE,      /* [hidden][dim] */
    QR_W_NGRAM_KEY_NORM,   /* [streams * hidden] */
    QR_W_NGRAM_QUERY_NORM, /* [streams * hidden] */
    QR_W_NGRAM_CONV_NORM,  /* [streams * hidden] */
    QR_W_NGRAM_CONV,       /* [streams * hidden][taps], newest tap last */
    QR_W_N_ROLES
};

#endif
