#!/usr/bin/env bash
# Runs quire-eval over the reference data. Exit 77 (skipped) without reference data or if the CPU lacks LEVEL.
# usage: run.sh QUIRE_EVAL SUITE [LEVEL]     SUITE: f32 families recurrent native kv gguf adapters onednn attention
#        tokenize template invariance schema tools
set -u
eval=$1
suite=$2
level=${3:-}
shared=${QUIRE_SHARED:-$(dirname "$0")/../../../shared}
if [ ! -d "$shared/goldens" ]; then
    echo "skipped: no reference data at $shared (set QUIRE_SHARED)"
    exit 77
fi
# The models are tiny: more threads would only wait for each other, and for the tests that run beside this one.
common=(--threads 1)
if [ -n "$level" ]; then
    common+=(--isa "$level")
    if ! "$eval" --list-levels | grep -qx "$level"; then
        echo "skipped: this CPU lacks $level"
        exit 77
    fi
fi
families="llama llama3_rope llama_linear_rope llama_h256 mistral qwen2 qwen2_yarn qwen3 gemma gemma2_q32 gemma3_text phi3"
families_more="granite gpt2 gpt_neox bloom mpt falcon_new cohere2 olmo olmo2 nemotron stablelm starcoder2 phi ernie4_5
    glm4 gpt_bigcode gpt_neo gptj opt arcee cwm jais2 ministral3 vaultgemma youtu apertus bitnet
    gemma3n_text gemma4_text granite_swa minicpm3 nanochat qwen3_embedding diffllama doge"
families_encoder="bert modernbert nomic_bert eurobert embedding_gemma t5 bart" # encoders and encoder-decoders
# The reference adds the ALiBi biases twice. Only the newer style of config.json records that, by its version.
families_new_style="falcon_alibi"
# Windows of the encoder count as in the newer releases of the reference, which its version records, too.
families_encoder_new_style="t5gemma"
# MoE families whose files exist in the newer style of config.json only.
families_moe_new_style="laguna mimo_v2_flash"
# In native mode a rounded activation can change the expert that a router selects; no error bound holds then.
families_moe="mixtral qwen2_moe qwen3_moe olmoe gpt_oss llama4_text
    deepseek_v2 deepseek_v2_lite deepseek_v3 afmoe dots1 ernie4_5_moe exaone_moe glm4_moe_lite minimax_m2 mistral4
    deepseek_v32 glm_moe_dsa longcat_flash minimax_m3_text
    gemma4_text_moe granitemoe_swa hunyuan_v1_moe phimoe"
# Models with a state. A rounded activation can change the sign of a product that a norm then enlarges.
families_recurrent="lfm2 lfm2_moe mamba mamba2 falcon_mamba granitemoehybrid granitemoehybrid_dense bamba nemotron_h
    nemotron_h_moe qwen3_next qwen3_5_text qwen3_5_moe_text olmo_hybrid jamba falcon_h1 kimi_linear minimax
    recurrent_gemma rwkv zamba2 qwen4_exp deepseek_v4"
# Those without an older style of config.json; with experts.
families_recurrent_new_style="zaya"
# Those whose states can be bf16, without experts: another expert is a larger difference than a rounded state.
families_bf16_states="mamba mamba2 falcon_mamba granitemoehybrid_dense bamba nemotron_h qwen3_next qwen3_5_text
    olmo_hybrid jamba falcon_h1 recurrent_gemma zamba2 qwen4_exp"
failed=0
check() { "$@" || failed=1; }
golden=$shared/goldens

# Copies a folder, with the config.json of the older style.
older_style() {
    local copy=$1/$2
    mkdir -p "$copy"
    cp "$golden/$2"/*.safetensors "$golden/$2/golden.json" "$copy"
    cp "$golden/$2/config_v4.json" "$copy/config.json"
}

# Checks a GGUF file of a family in f32 and native mode; MoE families in f32 only. The files of llama_h256 have all
# types: they are checked in mode throughput, too.
gguf_file() {
    [ -e "$1" ] || return 0
    check "$eval" golden "${common[@]}" --gguf "$1" "$golden/$2"
    case " "$(echo $families_moe $families_moe_new_style)" " in *" $2 "*) return 0 ;; esac # echo: names end with a space, not a new line
    check "$eval" golden "${common[@]}" --compute native --gguf "$1" "$golden/$2"
    [ "$2" != llama_h256 ] || check "$eval" golden "${common[@]}" --compute throughput --gguf "$1" "$golden/$2"
}

# Copies a folder as one of another family that computes the same; the rest are expressions of sed for config.json.
renamed() {
    local copy=$1/$3
    mkdir -p "$copy"
    cp "$golden/$2"/*.safetensors "$golden/$2/golden.json" "$copy"
    sed -e "s/\"model_type\": \"$2\"/\"model_type\": \"$3\"/" "${@:4}" "$golden/$2/config.json" >"$copy/config.json"
}

# Checks every GGUF file of a family.
gguf_files() {
    local file
    for file in "$golden/gguf/$1"-*.gguf "$golden/gguf_2026/$1"-bf16.gguf; do gguf_file "$file" "$1"; done
}

case $suite in
f32)
    for f in $families $families_encoder $families_encoder_new_style; do check "$eval" golden "${common[@]}" "$golden/$f"; done
    ;;
families) # further families, and the older style of config.json of all families
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    for f in $families_more $families_new_style $families_moe $families_moe_new_style $families_encoder $families_encoder_new_style; do
        check "$eval" golden "${common[@]}" "$golden/$f"
        gguf_files "$f"
    done
    for f in $families $families_more $families_moe $families_encoder; do
        older_style "$scratch" "$f"
        check "$eval" golden "${common[@]}" "$scratch/$f"
    done
    for f in gemma3n_text phimoe llama4_text; do
        ! command -v python3 >/dev/null ||
            check "$(dirname "$0")/${f%_text}_gguf.py" "$eval" "$golden/$f" "${common[@]}"
    done
    renamed "$scratch" qwen2 seed_oss -e '/max_window_layers\|use_sliding_window/d' -e 's/"hidden_size"/"head_dim": 16, &/'
    renamed "$scratch" deepseek_v3 kimi_k2
    for f in seed_oss kimi_k2; do check "$eval" golden "${common[@]}" "$scratch/$f"; done
    ;;
recurrent) # both styles of config.json, GGUF files, and the same bits for every chunk and number of threads
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    splits=("--threads 2 --chunk 1" "--chunk 7" "--threads 3 --chunk 16" "--chunk 64 --block-size 16")
    [ "$level" != generic ] || splits=("${splits[@]:0:2}") # it takes four times as long as others
    for f in $families_recurrent $families_recurrent_new_style; do
        first=$("$eval" golden "${common[@]}" "$golden/$f") || failed=1
        echo "$first"
        for options in "${splits[@]}"; do
            other=$("$eval" golden "${common[@]}" $options "$golden/$f") || failed=1
            if [ "$first" != "$other" ]; then
                printf 'FAIL %s differs with %s:\n%s\n%s\n' "$f" "$options" "$first" "$other"
                failed=1
            fi
        done
        if [ -e "$golden/$f/config_v4.json" ]; then
            older_style "$scratch" "$f"
            check "$eval" golden "${common[@]}" "$scratch/$f"
        fi
        for file in "$golden/gguf_2026/$f"-*.gguf; do
            [ ! -e "$file" ] || check "$eval" golden "${common[@]}" --gguf "$file" "$golden/$f"
        done
    done
    for f in bamba qwen4_exp; do
        ! command -v python3 >/dev/null || check "$(dirname "$0")/${f}_gguf.py" "$eval" "$golden/$f" "${common[@]}"
    done
    for f in $families_bf16_states; do check "$eval" golden "${common[@]}" --bf16-states "$golden/$f"; done
    ;;
native)
    for f in $families $families_encoder $families_encoder_new_style; do check "$eval" golden "${common[@]}" --compute native "$golden/$f"; done
    ;;
kv)
    for kv in f16 bf16 int8 fp8_e4m3 fp8_e5m2; do
        for f in $families $families_encoder $families_encoder_new_style; do check "$eval" golden "${common[@]}" --kv $kv "$golden/$f"; done
    done
    # int4 needs heads of a multiple of 32
    for f in llama_h256 mistral qwen3 gemma gemma2_q32 gemma3_text phi3; do
        for compute in f32 native; do
            check "$eval" golden "${common[@]}" --compute $compute --kv int4 "$golden/$f"
            check "$eval" golden "${common[@]}" --compute $compute --kv int4 --kv-rotate kv "$golden/$f"
            check "$eval" golden "${common[@]}" --compute $compute -ctk int8 -ctv int4 "$golden/$f"
        done
    done
    ;;
gguf)
    for f in $families; do gguf_files "$f"; done
    # 1 to 4 bits
    for file in "$golden"/gguf_2026/llama_h256-*.gguf; do gguf_file "$file" llama_h256; done
    ;;
adapters) # LoRA adapters on their models in both formats, within 1e-3
    for a in llama_r4 llama_r8_rs_embed mixtral_r4 mixtral_r4_params mixtral_r8_attn qwen2_r4 qwen2_r8_part; do
        base=${a%%_*}
        for m in "$golden/$base" "$golden/gguf/$base-bf16.gguf"; do
            said=$("$eval" golden "${common[@]}" --lora "$golden/lora/lora_$a" -m "$m") || failed=1
            echo "lora_$a: $said"
            awk '{ for (i = 1; i < NF; i++) if ($i == "max") exit !($(i + 1) <= 1e-3) }' <<<"$said" || failed=1
        done
    done
    ;;
invariance)
    # logits do not depend on chunks, threads or block size: the output, including the digest, must be the same.
    # invariant NAME ALLOWED ARGUMENT...: exit code ALLOWED of golden is no failure
    invariant() {
        local name=$1 allowed=$2 options first other
        shift 2
        first=$("$eval" golden "${common[@]}" --kv bf16 "$@") || [ $? = $allowed ] || failed=1
        for options in "--threads 2 --chunk 1" "--threads 3" "--threads 7 --chunk 16" "--chunk 64 --block-size 16" "--block-size 128"; do
            other=$("$eval" golden "${common[@]}" --kv bf16 $options "$@") || [ $? = $allowed ] || failed=1
            if [ "$first" != "$other" ]; then
                printf 'FAIL %s differs with %s:\n%s\n%s\n' "$name" "$options" "$first" "$other"
                failed=1
            fi
        done
    }
    for f in llama gemma3_text gemma3n_text gemma4_text phi3 bloom cohere2 deepseek_v2_lite apertus bitnet \
        granite_swa deepseek_v32 glm_moe_dsa longcat_flash minimax_m3_text diffllama doge qwen4_exp deepseek_v4 $families_recurrent_new_style $families_encoder $families_encoder_new_style; do
        # exit code 1 is a difference above the bound, which experts do not have in native mode
        case " $(echo $families_moe $families_recurrent_new_style) " in *" $f "*) allowed=1 ;; *) allowed=0 ;; esac
        invariant $f $allowed --compute native "$golden/$f"
    done
    for type in q4_k_s iq4_xs; do
        invariant "llama_h256-$type" 0 --compute throughput --gguf "$golden/gguf/llama_h256-$type.gguf" "$golden/llama_h256"
    done
    ;;
onednn)
    for options in "" "--threads 3 --chunk 7" "--isa avx2"; do
        for f in llama gemma2_q32 phi3 bert t5 t5gemma zaya; do check "$eval" golden "${common[@]}" --linear onednn $options "$golden/$f"; done
    done
    # oneDNN supports bf16 on some CPUs only; 69: not supported
    said=$("$eval" golden "${common[@]}" --linear onednn --compute native --gguf "$golden/gguf/llama-bf16.gguf" "$golden/llama" 2>&1)
    code=$?
    echo "$said"
    case $code in
    0) ;;
    69) echo "skipped bf16" ;;
    *) failed=1 ;;
    esac
    ;;
attention)
    for mode in f32 native; do check "$eval" attention "${common[@]}" --compute $mode "$golden/attention_cases.json"; done
    ;;
tokenize)
    for file in "$shared"/tokenizers/ggml-vocab-*.gguf; do
        check "$eval" tokenize -m "$file" --inp "$file.inp" --out "$file.out"
    done
    ;;
schema) # real schemas with valid and invalid instances; quire-eval fails if an invalid one is accepted
    command -v xz >/dev/null || { echo "skipped: xz is not installed"; exit 77; }
    said=$("$eval" schema "$shared/schemas/maskbench_tenth.jsonl.xz" -m "$shared/tokenizers/llama3") || failed=1
    echo "$said"
    grep -q '^valid instance rejected: 0 schemas' <<<"$said" || failed=1
    [ "$(sed -n 's/^passing \([0-9]*\) .*/\1/p' <<<"$said")" -ge 1090 ] || failed=1
    ;;
tools) check "$eval" tools "$shared/tools/tool_calls.jsonl" ;;
template) check "$eval" template "$shared"/tokenizers/templates/*.expected.json ;;
*)
    echo "run.sh: unknown suite '$suite'" >&2
    exit 64
    ;;
esac
exit $failed
