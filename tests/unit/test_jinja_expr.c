/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_expr.c - operators, comparisons, literals, attributes and slices against what Jinja2 prints */
#include "test_jinja.h"

/* numbers and operators */
static const struct jinja_case arithmetic[] = {
    { "1+2*3", "7" },
    { "7//2", "3" },
    { "-7//2", "-4" },
    { "7%-3", "-2" },
    { "-7%3", "2" },
    { "2**10", "1024" },
    { "2**-1", "0.5" },
    { "7/2", "3.5" },
    { "6/3", "2.0" },
    { "1.5+1", "2.5" },
    { "5.0//2", "2.0" },
    { "-5.5%2", "0.5" },
    { "2**3**2", "64" },
    { "-2**2", "4" },
    { "1e3", "1000.0" },
    { "1_000", "1000" },
    { "0x1f", "31" },
    { "0b101", "5" },
    { "0o17", "15" },
    { "1.0", "1.0" },
    { "1e16", "1e+16" },
    { "123456789012345.0", "123456789012345.0" },
    { "1e-5", "1e-05" },
    { "0.1+0.2", "0.30000000000000004" },
    { "3.0*2", "6.0" },
    { "'a'~1~none~2.0~true", "a1None2.0True" },
    { "'a'+'b'", "ab" },
    { "'ab'*3", "ababab" },
    { "3*'ab'", "ababab" },
    { "[1]*2", "[1, 1]" },
    { "[1]+[2]", "[1, 2]" },
    { "(1,)+(2,)", "(1, 2)" },
    { "(1,)", "(1,)" },
    { "()", "()" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "(1,2)", "(1, 2)" },
    { "{'a':1,'b':[1,2]}", "{'a': 1, 'b': [1, 2]}" },
    { "'it\\'s'", "it's" },
    { "[\"it's\", 'q\"q']", "[\"it's\", 'q\"q']" },
    { "['a\\n\\t\\x01\\u1234é\\u200b']", "['a\\n\\t\\x01ሴé\\u200b']" },
    { "[1.0, none, true, undefinedx]", "[1.0, None, True, Undefined]" },
    { "big", "9007199254740993" },
    { "big+1", "9007199254740994" },
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775807-1", "-9223372036854775808" },
    { "5 is not string and 3", "3" },
    { "l|length == 3", "True" },
    { "(l|length) - 1", "2" },
    { "l|length - 1", "2" },
    { "strftime_now('%d %b %Y')", "15 Jan 2026" },
    { "strftime_now('%Y-%m-%d %H:%M:%S %A %B %j %U %W %V %G %u %w %y %I %p %e %-d %-m %% %D %F %T "
      "%R %c %x %X %C %h %g')",
      "2026-01-15 00:00:00 Thursday January 015 02 02 03 2026 4 4 26 12 AM 15 15 1 % 01/15/26 "
      "2026-01-15 00:00:00 00:00 Thu Jan 15 00:00:00 2026 01/15/26 00:00:00 20 Jan 26" },
    { "1 if n is odd else 2 if n else 3", "1" },
    { "[1,2,3,][1]", "2" },
    { "{'a':1,}.a", "1" },
    { "l|first|string|length", "1" },
    { "'abc'|list", "['a', 'b', 'c']" },
    { "u|list",
      "['h', 'é', 'l', 'l', 'o', ' ', 'W', 'ö', 'r', 'l', 'd', ' ', 'ß', ' ', '日', '本']" },
    { "'abc'|map('upper')|join", "ABC" },
    { "d|map('upper')|join", "ABITEMSZ" },
    { "s|select('in','lo')|join", "llool" },
    { "3|string|int + 1", "4" },
    { "\"\\x41\\u00e9\\101\\q\\\\\"", "AéA\\q\\" },
    { "\"\\\"\"", "\"" },
    { "'\\''", "'" },
    { "1.5|string", "1.5" },
    { "1e22", "1e+22" },
    { "1e21|int if 0", "" },
    { "100000000000000000.0", "1e+17" },
    { "-0.0", "-0.0" },
    { "1.0e-7", "1e-07" },
    { "5e-324", "5e-324" },
    { "1.7976931348623157e308", "1.7976931348623157e+308" },
    { "2.0**0.5", "1.4142135623730951" },
    { "10//3.0", "3.0" },
    { "7.0%0.3", "0.10000000000000026" },
    { "true+true", "2" },
    { "-true", "-1" },
    { "+true", "1" },
    { "true|string", "True" },
    { "true~''", "True" },
    { "none|string", "None" },
    { "1|float", "1.0" },
    { "[none,1]|tojson", "[null, 1]" },
    { "x.y if false", "" },
    { "[x if false]", "[Undefined]" },
};

/* comparison and logic */
static const struct jinja_case comparison[] = {
    { "1<2<3", "True" },        { "1<3<2", "False" },       { "1==1.0", "True" },
    { "'a'<'b'", "True" },      { "[1,2]<[1,3]", "True" },  { "1 in [1,2]", "True" },
    { "'a' in 'cat'", "True" }, { "'x' not in d", "True" }, { "'a' in d", "True" },
    { "not 1", "False" },       { "not not 1", "True" },    { "1 and 0", "0" },
    { "0 or 'x'", "x" },        { "none or []", "[]" },     { "1 if 0 else 2", "2" },
    { "(1 if 0)", "" },         { "'z' if t", "z" },
};

/* attributes, items, slices */
static const struct jinja_case access[] = {
    { "d.a", "1" },
    { "d['a']", "1" },
    { "d.items is callable", "True" },
    { "d['items']", "9" },
    { "d.zz is defined", "False" },
    { "d.z is none", "True" },
    { "d.get('q')", "None" },
    { "d.get('q', 3)", "3" },
    { "d.keys()|list", "['a', 'b', 'items', 'z']" },
    { "d.values()|list", "[1, 'x', 9, None]" },
    { "d.items()|list", "[('a', 1), ('b', 'x'), ('items', 9), ('z', None)]" },
    { "nested.x.y[1].k", "v" },
    { "nested['x'].y.0", "1" },
    { "l[0]", "3" },
    { "l[-1]", "2" },
    { "l[5] is defined", "False" },
    { "l[1:]", "[1, 2]" },
    { "l[::-1]", "[2, 1, 3]" },
    { "l[:-1]", "[3, 1]" },
    { "l[5:]", "[]" },
    { "l[-2:]", "[1, 2]" },
    { "s[0]", "H" },
    { "s[-1]", "d" },
    { "s[::2]", "HloWrd" },
    { "s[::-1]", "dlroW olleH" },
    { "s[1:4]", "ell" },
    { "u[1]", "é" },
    { "u[::-1]", "本日 ß dlröW olléh" },
    { "u[2:9:3]", "l r" },
    { "s[10:2:-3]", "doo" },
    { "s[:]", "Hello World" },
    { "range(10)[2:8:3]|list", "[2, 5]" },
    { "range(5)[-1]", "4" },
    { "range(3)", "range(0, 3)" },
    { "range(1,10,3)|list", "[1, 4, 7]" },
    { "range(5,0,-2)|list", "[5, 3, 1]" },
    { "range(10)|length", "10" },
};

/* functions, precedence of filters and signs */
static const struct jinja_case globals_and_calls[] = {
    { "loop", "" },
    { "caller", "" },
    { "range(3)|map('string')|list", "['0', '1', '2']" },
    { "dict(a=1,b=2)", "{'a': 1, 'b': 2}" },
    { "dict([('x',1)])", "{'x': 1}" },
    { "dict({'a':1},b=3)", "{'a': 1, 'b': 3}" },
    { "namespace(a=1).a", "1" },
    { "namespace(a=1).b is defined", "False" },
    { "namespace(a=1)['a']", "1" },
    { "namespace(a=1)", "<Namespace {'a': 1}>" },
    { "cycler('a','b').next()", "a" },
    { "d|length", "4" },
    { "d|list", "['a', 'b', 'items', 'z']" },
    { "d|first", "a" },
    { "d|join(',')", "a,b,items,z" },
    { "'a' 'b' \"c\"", "abc" },
    { "l|attr('x') is defined", "False" },
    { "d|attr('items') is callable", "True" },
    { "d|attr('a') is defined", "False" },
    { "s|attr('upper')()", "HELLO WORLD" },
    { "(1,2)|first", "1" },
    { "{'a':1}.a", "1" },
    { "[1,2][0]", "1" },
    { "'abc'[1]", "b" },
    { "(l)[0]", "3" },
    { "l.0", "3" },
    { "ll.1.0", "3" },
    { "-1|abs", "1" },
    { "-l[0]|abs", "3" },
    { "n|string + 'x'", "5x" },
    { "'a'~'b'|upper", "aB" },
    { "not d.a == 1", "False" },
    { "1 == 1 == 1", "True" },
    { "(1,2)==(1,2)", "True" },
    { "[1]==(1,)", "False" },
    { "{'a':1}=={'a':1.0}", "True" },
    { "none == none", "True" },
    { "true == 1", "True" },
    { "{1:'a'}[true]", "a" },
    { "{1:'a'}[1.0]", "a" },
    { "'é' < 'z'", "False" },
    { "1 < 1.5 < 2", "True" },
    { "d.items()|first", "('a', 1)" },
    { "d.items()|list|first|first", "a" },
};

static void test_arithmetic(void **state)
{
    (void)state;
    JINJA_CHECK(arithmetic, true);
}

static void test_comparison(void **state)
{
    (void)state;
    JINJA_CHECK(comparison, true);
}

static void test_access(void **state)
{
    (void)state;
    JINJA_CHECK(access, true);
}

static void test_globals_and_calls(void **state)
{
    (void)state;
    JINJA_CHECK(globals_and_calls, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_globals_and_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
