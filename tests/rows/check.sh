#!/usr/bin/env bash
# The tables of tests/rows/README.md, the labels of tests and the mutations agree.
# usage: check.sh SOURCE_DIR BUILD_DIR
set -u
source_dir=$1
build_dir=$2
table=$source_dir/tests/rows/README.md
# rows that may have no meaning on a CPU: the others are computed
no_meaning=" 2 3 22 40 46 53 63 69 70 71 "
failed=0
complain() {
    echo "$*"
    failed=1
}

# $1 is "test" or "test: function": both must exist
check_test() {
    local test=${1%%:*} function=${1#*: } where
    case $test in
    property | attention-walk | attention-trees) where=("$source_dir"/tests/property/*.c) ;;
    test_*) where=("$source_dir/tests/unit/$test.c") ;;
    *) where=() ;;
    esac
    [ "$test" = property ] && test=property-0
    grep -qx "$test" <<<"$all_tests" || complain "$2: there is no test $test"
    [ "$function" = "$1" ] && return
    grep -qE "^static (void|bool) $function\(" "${where[@]}" /dev/null || complain "$2: $test has no $function"
}

all_tests=$(ctest --test-dir "$build_dir" -N | sed -n 's/^ *Test *#[0-9]*: //p')
labels=$(ctest --test-dir "$build_dir" --print-labels | sed -n 's/^ *\(row-[0-9]*\)$/\1/p')
mutations=$("$source_dir/script/mutate" --list | sed -n 's/^row \([0-9]*\):.*/\1/p')
expected=1
n_done=0
n_skipped=0
not_built=$(ctest --test-dir "$build_dir" -N -L '^not-built$' | sed -n 's/^ *Test *#[0-9]*: //p')
while IFS='|' read -r _ row what status where tests _; do
    row=${row// /} status=$(xargs <<<"$status") tests=$(xargs <<<"$tests")
    [ "$row" = "$expected" ] || complain "row $row found, row $expected expected"
    expected=$((expected + 1))
    number=$(printf %02d "$row")
    mutated=no
    grep -qx "$number" <<<"$mutations" && mutated=yes
    labelled=no
    grep -qx "row-$number" <<<"$labels" && labelled=yes
    case $status in
    done)
        [ -n "$tests" ] || complain "row $row: no test"
        [ "$mutated" = yes ] || complain "row $row: no mutation"
        [ $labelled = yes ] || complain "row $row: no test has the label row-$number"
        while read -r test; do check_test "$test" "row $row"; done < <(sed 's/, /\n/g' <<<"$tests")
        # a test that cannot run here proves nothing
        if grep -qxF "$(sed 's/, /\n/g' <<<"$tests" | sed 's/:.*//')" <<<"$not_built"; then
            echo "row $row: skipped: cmocka is missing"
            n_skipped=$((n_skipped + 1))
        else
            n_done=$((n_done + 1))
        fi
        ;;
    "no CPU meaning")
        [[ $no_meaning == *" $row "* ]] || complain "row $row must be implemented"
        [ -z "$tests" ] && [ $mutated = no ] && [ $labelled = no ] || complain "row $row: tests, mutation or label without a capability"
        [ -n "$(xargs <<<"${where//[\`\']/}")" ] || complain "row $row: no reason"
        ;;
    *) complain "row $row: unknown status '$status'" ;;
    esac
done < <(grep -E '^\| [0-9]+ \|.*\| (done|no CPU meaning) \|' "$table")
[ "$expected" = 100 ] || complain "$((expected - 1)) rows, expected 99"
for number in $mutations; do
    grep -qE "^\| $((10#$number)) \|.*\| done \|" "$table" || complain "a mutation of row $number, which is not done"
done
# the second table: traps of the originals and the tests that pin the correct behavior
while IFS='|' read -r _ row there here tests _; do
    while read -r test; do check_test "$test" "trap of row$row"; done < <(xargs <<<"$tests" | sed 's/, /\n/g')
done < <(sed -n '/^## Traps/,$p' "$table" | grep -E '^\| [0-9]')
"$source_dir/script/mutate" --check || failed=1
echo "$n_done rows done, $n_skipped skipped"
[ $failed = 1 ] || [ $n_skipped = 0 ] || exit 77
exit $failed
