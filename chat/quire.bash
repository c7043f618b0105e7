# SPDX-License-Identifier: Apache-2.0
# bash completion for quire-chat, quire-server and quire-quantize: options and values come from PROGRAM --list-options

_quire()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local names value words options="" takes_value="" values=""

    # each line: NAMES|VALUE|file, model or the possible values
    while IFS='|' read -r names value words; do
        options+=" $names"
        if [[ " $names " == *" $prev "* ]]; then
            takes_value=$value
            values=$words
        fi
    done < <("${1/#\~/$HOME}" --list-options 2>/dev/null)

    if [[ $values == model ]]; then # GGUF files and Hugging Face folders
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -X '!*.gguf' -- "$cur"; compgen -d -- "$cur")
    elif [[ $values == file ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $takes_value ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    fi
}
complete -F _quire quire-chat quire-server quire-quantize
