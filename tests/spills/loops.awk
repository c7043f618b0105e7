# SPDX-License-Identifier: Apache-2.0
# Finds the hot loops of a disassembly (objdump -d --no-show-raw-insn) and counts their register spills.
#
# A loop is the range of a backward jump. It is hot if it multiplies vectors and contains no loop that does. A spill is
# a store of a vector to the stack in it: a value the loop computes without a register for it. Constants that a loop
# only reads from the stack are no spills; their loads cost as much as a memory operand.
#
# Prints for each hot loop: function, address, multiplications, spills.

function number(hex,    i, v) {
    v = 0
    for (i = 1; i <= length(hex); i++)
        v = 16 * v + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return v
}

# Whether no loop that multiplies starts inside loop l, and no longer one at its start. Loops that overlap without
# nesting come from tiles that share their end: each starts inside the previous one.
function innermost(l,    k) {
    for (k = 0; k < loops; k++)
        if ((from[k] > from[l] && from[k] <= to[l] && multiplies[k] > 0) || (from[k] == from[l] && to[k] > to[l]))
            return 0
    return 1
}

function end_of_function(    l, i) {
    for (l = 0; l < loops; l++) {
        multiplies[l] = spills[l] = 0
        for (i = 0; i < lines; i++)
            if (address[i] >= from[l] && address[i] <= to[l]) {
                multiplies[l] += multiply[i]
                spills[l] += spill[i]
            }
    }
    for (l = 0; l < loops; l++)
        if (multiplies[l] >= 10 && innermost(l)) # fewer: the last values of a row
            printf "%s %x %d %d\n", name, from[l], multiplies[l], spills[l]
    lines = loops = has_frame = 0
}

/^[0-9a-f]+ <.*>:$/ {
    end_of_function()
    name = $2
    gsub(/[<>:]/, "", name)
    sub(/\.(constprop|isra|part).*/, "", name)
    next
}

/^ +[0-9a-f]+:\t/ {
    at = $1
    sub(/:/, "", at)
    address[lines] = number(at)
    if ($2 == "mov" && $3 == "%rsp,%rbp")
        has_frame = 1
    multiply[lines] = $0 ~ /\t({.*} )?(vpdpbusd|vdpbf16ps|vfn?m(add|sub)[0-9]+[ps]s|vpmaddubsw|vpmaddwd) /
    spill[lines] = $0 ~ /%[xyz]mm[0-9]+,-?(0x[0-9a-f]+)?\(%rsp[,)]/
    if (has_frame && $0 ~ /%[xyz]mm[0-9]+,-?(0x[0-9a-f]+)?\(%rbp[,)]/)
        spill[lines] = 1
    if ($2 ~ /^j/ && $3 ~ /^[0-9a-f]+$/ && number($3) <= address[lines]) {
        from[loops] = number($3)
        to[loops++] = address[lines]
    }
    lines++
}

END { end_of_function() }
