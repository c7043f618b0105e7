# SPDX-License-Identifier: Apache-2.0
# bash completion for quire-chat

_quire_chat()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local options="-m --model -p --prompt -f --file -sys --system-prompt -n --predict -c --ctx-size
        -t --threads -s --seed --temp --top-k --top-p --min-p --repeat-penalty --repeat-last-n
        --presence-penalty --frequency-penalty -r --stop --ignore-eos -ctk --cache-type-k
        -ctv --cache-type-v --kv-mem --pack-cache --mlock --isa --compute --chat-template-file -no-cnv --no-cnv
        -i --interactive --no-wrap --json --cpu --dry-run -v --verbose -h --help --version"

    case $prev in
    -m | --model)
        # model files, and folders in the style of Hugging Face
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -X '!*.gguf' -- "$cur"; compgen -d -- "$cur")
        return ;;
    -f | --file | --chat-template-file | --pack-cache)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    -ctk | --cache-type-k | -ctv | --cache-type-v)
        mapfile -t COMPREPLY < <(compgen -W "f32 f16 bf16 fp8 fp8_e4m3 fp8_e5m2 int8 q8_0" -- "$cur")
        return ;;
    --compute)
        mapfile -t COMPREPLY < <(compgen -W "native f32" -- "$cur")
        return ;;
    --isa)
        local levels="generic avx2 avx2_vnni avx512 avx512_vnni avx512_bf16 avx512_amx"
        case $(uname -m) in
        aarch64 | arm64) levels="generic neon neon_dotprod neon_fhm neon_bf16 neon_i8mm" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$levels" -- "$cur")
        return ;;
    -t | --threads)
        mapfile -t COMPREPLY < <(compgen -W "auto" -- "$cur")
        return ;;
    -p | --prompt | -sys | --system-prompt | -n | --predict | -c | --ctx-size | -s | --seed | --temp | \
        --top-k | --top-p | --min-p | --repeat-penalty | --repeat-last-n | --presence-penalty | \
        --frequency-penalty | -r | --stop | --kv-mem)
        return ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    fi
}
complete -F _quire_chat quire-chat
