/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_statement.c - statements and white space; the expected output is that of Jinja2. */
#include "test_jinja.h"

static const struct jinja_case statements[] = {
    { "{% for x in l %}{{ x }},{% endfor %}", "3,1,2," },
    { "{% for x in [] %}a{% else %}none{% endfor %}", "none" },
    { "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}no{% endfor "
      "%}",
      "1/2:3 2/2:2 " },
    { "{% for k, v in d.items() %}{{k}}={{v}};{% endfor %}", "a=1;b=x;items=9;z=None;" },
    { "{% for a, (b, c) in [(1,(2,3))] %}{{a}}{{b}}{{c}}{% endfor %}", "123" },
    { "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ "
      "loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ "
      "loop.cycle(\"a\",\"b\") }}{{ loop.changed(x>1) }}{{ loop.depth }}{{ loop.depth0 }}\n{% "
      "endfor %}",
      "1032TrueFalse31aTrue10\n2121FalseFalse332bTrue10\n3210FalseTrue31aTrue10\n" },
    { "{% for x in [1,2,3,4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break "
      "%}{% endif %}{{ x }}{% endfor %}",
      "13" },
    { "{% for x in [[1,[2]],[3]] recursive %}{% if x is iterable %}<{{ loop(x) }}>{% else %}{{ x "
      "}}@{{ loop.depth }}{% endif %}{% endfor %}",
      "<1@2<2@3>><3@2>" },
    { "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "3121" },
    { "{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x "
      "}}",
      "7" },
    { "{% set x %}a{{ n }}b{% endset %}[{{ x }}]", "[a5b]" },
    { "{% set x | upper | replace(\"A\",\"z\") %}a{{ n }}b{% endset %}[{{ x }}]", "[z5B]" },
    { "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12" },
    { "{% set a = 1, 2 %}{{ a }}", "(1, 2)" },
    { "{% set (a, b) = (1, 2) %}{{ a }}{{ b }}", "12" },
    { "{% if n > 3 %}a{% elif n > 2 %}b{% else %}c{% endif %}", "a" },
    { "{% if n < 3 %}a{% elif n > 4 %}b{% else %}c{% endif %}", "b" },
    { "{% if n < 3 %}a{% elif n > 9 %}b{% else %}c{% endif %}", "c" },
    { "{% if true %}{% set q = 1 %}{% endif %}{{ q }}", "1" },
    { "{% if false %}{% set q = 1 %}{% endif %}{{ q is defined }}", "False" },
    { "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, c=5) }}{{ "
      "m(b=7, a=8) }}{{ m() }}",
      "1211258782" },
    { "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1,2,3,x=4) }}{{ m() }}",
      "1(2, 3){'x': 4}(){}" },
    { "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}hi {{ n }}{% endcall %}",
      "[hi 5]" },
    { "{% macro m() %}[{{ caller(1, 2) }}]{% endmacro %}{% call(a, b=3) m() %}{{ a }}{{ b }}{% "
      "endcall %}",
      "[12]" },
    { "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "False" },
    { "{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x-1) }}{% endif %}{% endmacro %}{{ f(5) }}",
      "54321" },
    { "{% macro m(x) %}{{ y }}{% endmacro %}{% set y = 3 %}{{ m(1) }}", "3" },
    { "{% for y in l %}{% macro m() %}{{ y }}{% endmacro %}{{ m() }}{% endfor %}", "312" },
    { "{% macro m() %}a{% endmacro %}{{ m }}|{{ m.name }}|{{ m.arguments }}|{{ m.caller }}",
      "<Macro 'm'>|m|()|False" },
    { "{% macro m(a,b) %}{% endmacro %}{{ m.arguments }}{{ m()|length }}", "('a', 'b')0" },
    { "{% filter upper %}abc{{ s }}{% endfilter %}", "ABCHELLO WORLD" },
    { "{% filter replace(\"a\",\"b\")|upper %}aXa{% endfilter %}", "BXB" },
    { "{% with a=1, b=2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "12False" },
    { "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}", "1" },
    { "{% generation %}a{{ n }}{% set zz = 1 %}{% endgeneration %}{{ zz is defined }}", "a5False" },
    { "{% raw %}{{ x }}{% if %}{% endraw %}", "{{ x }}{% if %}" },
    { "{%- raw -%}  {{ x }}  {%- endraw -%} y", "{{ x }}y" },
    { "a {% raw %}\n b {% endraw %}\nc", "a \n b c" },
    { "{# c #}a{#- c -#} b", "ab" },
    { "a\n  {# c #}\nb", "a\nb" },
    { "{% print n %}", "5" },
    { "{% print n, s %}", "5Hello World" },
    { "{% block foo %}x{{ n }}{% endblock %}", "x5" },
    { "{% block foo %}x{% endblock foo %}", "x" },
    { "{% autoescape false %}{{ html }}{% endautoescape %}", "<a href=\"x\">'&</a>" },
    { "  {% if true %}\n  a\n  {% endif %}\nb", "  a\nb" },
    { "  {%+ if true %}\n  a\n  {%+ endif +%}\nb", "    a\n  \nb" },
    { "a  {%- if true -%}  b  {%- endif -%}  c", "abc" },
    { "{{ n }}\n", "5" },
    { "{{ n }}\n\n", "5\n" },
    { "\n{{ n }}", "\n5" },
    { "{{- n -}} x", "5x" },
    { "a {{- n }} x", "a5 x" },
    { "a\n   {{ n }}", "a\n   5" },
    { "a\n   {{- n }}", "a5" },
    { "  {{ n }}", "  5" },
    { "{% if true %}   {% endif %}|", "   |" },
    { "{% set x = 1 %}\n\nb", "\nb" },
    { "{% set x = 1 -%}\n\nb", "b" },
    { "{% set x = 1 +%}\n\nb", "\n\nb" },
    { "a{% set x = 1 %}\r\nb\rc", "ab\nc" },
    { "\t{% if 1 %}x{% endif %}\t{% if 1 %}y{% endif %}", "x\ty" },
    { "x {% if 1 %}\n y\n {% endif %} z", "x  y\n z" },
    { "{{ \"}}\" }}", "}}" },
    { "{{ {\"a\":{\"b\":1}}[\"a\"][\"b\"] }}", "1" },
    { "{{ {\"a\":{\"b\":1}} }}", "{'a': {'b': 1}}" },
    { "{{ \"{{\" }}{{ '%}' }}", "{{%}" },
    { "{% set x = {\"a\": {\"b\": 1}} %}{{ x }}", "{'a': {'b': 1}}" },
    { "{%if n%}a{%endif%}", "a" },
    { "{{n}}{{s}}", "5Hello World" },
    { "{% if n %}a{% else %}b{% endif %}", "a" },
    { "{%- for m in l -%} {{ m }} {%- endfor -%}", "312" },
    { "{#- a -#}\n{#+ b +#}\nc", "\nc" },
    { "{%- set x=1 %}\n   a", "   a" },
    { "   {%- set x=1 -%}   ", "" },
    { "\302\240{%- set x=1 -%}\343\200\200a", "a" },
    { "{% set x = 5 %}{{ x }}{% set x = x + 1 %}{{ x }}", "56" },
    { "{% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ "
      "loop.index }}{% endfor %}",
      "100 201 1110 211 2120 221 3" },
    { "{% for c in s %}{{ c }}-{% endfor %}", "H-e-l-l-o- -W-o-r-l-d-" },
    { "{% for x in l %}{{ loop }}{{ loop|length }}{{ loop is callable }}{{ loop.nope is defined "
      "}}{{ [loop.previtem, loop.nextitem] }}{% endfor %}",
      "<LoopContext 1/3>3TrueFalse[Undefined, 1]<LoopContext 2/3>3TrueFalse[3, 2]<LoopContext "
      "3/3>3TrueFalse[1, Undefined]" },
    { "{% macro m(a) %}{% endmacro %}{{ m }}{{ [m] }}{{ m is callable }}{{ m.name }}{{ "
      "m.catch_kwargs }}{{ m.catch_varargs }}{{ m.nope is defined }}",
      "<Macro 'm'>[<Macro 'm'>]TruemFalseFalseFalse" },
    { "{% set ns = namespace(a=[1]) %}{{ ns }}{{ ns.a }}{{ ns is mapping }}{{ ns == ns }}{{ ns is "
      "sameas ns }}{{ ns.nope is defined }}",
      "<Namespace {'a': [1]}>[1]FalseTrueTrueFalse" },
    { "{% set c = cycler(1,2) %}{{ c.current }}{{ c.nope is defined }}", "1False" },
    { "{% set j = joiner() %}{{ j.sep }}{{ j.nope is defined }}", ", False" },
    { "{% for x in l %}{{ loop.changed(1) }}{{ loop.changed() }}{% endfor %}",
      "TrueTrueTrueTrueTrueTrue" },
    { "{{ l.append }}{{ l.append is defined }}{{ d.update is defined }}", "FalseFalse" },
    { "{{ \"{0.append}\".format(l) }}", "" },
    { "{% for k in d %}{{ k }}{% endfor %}", "abitemsz" },
    { "{% for x in qq %}a{% else %}e{% endfor %}", "e" },
    { "{% for x in l|map(\"string\") %}{{ x }}{{ loop.last }}{{ loop.length }}{% endfor %}",
      "3False31False32True3" },
    { "{% set g = l|map(\"string\") %}{{ g|list }}{{ g|list }}", "['3', '1', '2'][]" },
    { "{% set g = l|map(\"string\") %}{{ g|first }}{{ g|list }}", "3['1', '2']" },
    { "{% set g = l|map(\"string\") %}{{ \"1\" in g }}{{ g|list }}", "True['2']" },
    { "{% set c = cycler(\"a\",\"b\") %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current "
      "}}{{ c.reset() }}{{ c.next() }}",
      "ababNonea" },
    { "{% set j = joiner(\"|\") %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "3|1|2" },
    { "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}", "1" },
    { "{% set ns = namespace(a=[]) %}{% for x in l %}{% set ns.a = ns.a + [x] %}{% endfor %}{{ "
      "ns.a }}",
      "[3, 1, 2]" },
    { "{% set ns = namespace(**{\"a\": 1}) %}{{ ns.a }}", "1" },
    { "{{ dict(*[[(\"a\",1)]]) }}", "{'a': 1}" },
    { "{{ \"%s %s\"|format(*[1,2]) }}", "1 2" },
    { "{% macro m(a,b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1], **{\"b\": 2}) }}", "12" },
    { "{{ l[1,2] is defined }}", "False" },
    { "{% for i in range(3) %}{{ i }}{% if loop.last %}!{% endif %}{% endfor %}", "012!" },
    { "{% set x = \"a\" if n > 3 else \"b\" %}{{ x }}", "a" },
    { "{% for x in l if x is odd %}{{ x }}{% endfor %}", "31" },
    { "{% for x in l recursive %}{{ x }}{% endfor %}", "312" },
    { "{% for x in (1,2) %}{{ x }}{% endfor %}", "12" },
    { "{% for x in 1,2 %}{{ x }}{% endfor %}", "12" },
    { "{% if 1, %}a{% endif %}", "a" },
    { "{{ 1, 2 }}", "(1, 2)" },
    { "{{ (1, 2,) }}", "(1, 2)" },
    { "{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", "21" },
    { "{% macro m() %}{{ n }}{% endmacro %}{% for n in [9] %}{{ m() }}{% endfor %}", "5" },
    { "{% set x %}{% for i in l %}{{ i }}{% if i == 1 %}{% break %}{% endif %}{% endfor %}{% "
      "endset %}{{ x }}",
      "31" },
    { "{% for i in l %}{% set x %}q{% break %}{% endset %}{% endfor %}{{ x is defined }}",
      "False" },
    { "{% for i in l %}a{% filter upper %}q{% if i == 1 %}{% break %}{% endif %}{% endfilter %}{% "
      "endfor %}",
      "aQa" },
    { "{% for i in l %}{% for j in l %}{% break %}{% endfor %}{{ i }}{% endfor %}", "312" },
    { "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "B" },
    { "{% set a = [1,2] %}{% set b = a %}{{ a == b }}{{ a is sameas b }}", "TrueTrue" },
    { "{% macro outer() %}{% macro inner() %}I{{ caller() }}{% endmacro %}{% call inner() %}C{% "
      "endcall %}{% endmacro %}{{ outer() }}",
      "IC" },
    { "{% set f = s.upper %}{{ f() }}", "HELLO WORLD" },
    { "{% set f = d.items %}{% for k,v in f() %}{{ k }}{% endfor %}", "abitemsz" },
    { "{% for m in messages %}{{ m.role }}{% endfor %}", "userassistant" },
    { "{{ tools is defined }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}",
      "TrueTrueTrueFalse" },
    { "{{ messages[0][\"role\"] }}", "user" },
    { "{{ messages|length }}{{ (messages|last).content }}", "2yo" },
    { "{%- if not false -%}\n a\n{%- endif %}\n\n{{- 'x' }}\n  {%- if 1 %}\n    {{- 'y' }}\n  {%- "
      "endif %}\n",
      "axy" },
};

/* Builtin tests: x is ... */
static const struct jinja_case tests_of_is[] = {
    { "n is odd", "True" },
    { "n is even", "False" },
    { "n is divisibleby 5", "True" },
    { "n is divisibleby(3)", "False" },
    { "n is number", "True" },
    { "f is float", "True" },
    { "n is integer", "True" },
    { "t is integer", "False" },
    { "t is boolean", "True" },
    { "t is true", "True" },
    { "t is false", "False" },
    { "t is number", "True" },
    { "s is string", "True" },
    { "d is mapping", "True" },
    { "l is sequence", "True" },
    { "d is sequence", "True" },
    { "s is sequence", "True" },
    { "5 is sequence", "False" },
    { "l is iterable", "True" },
    { "5 is iterable", "False" },
    { "s is iterable", "True" },
    { "no is none", "True" },
    { "no is defined", "True" },
    { "qq is defined", "False" },
    { "qq is undefined", "True" },
    { "range is callable", "True" },
    { "s is callable", "False" },
    { "s is lower", "False" },
    { "'abc' is lower", "True" },
    { "'ABC' is upper", "True" },
    { "'upper' is filter", "True" },
    { "'zz' is filter", "False" },
    { "'odd' is test", "True" },
    { "n is eq 5", "True" },
    { "n is ne(5)", "False" },
    { "n is gt 3", "True" },
    { "n is lessthan 3", "False" },
    { "n is in [5,6]", "True" },
    { "n is not in [5,6]", "False" },
    { "n is sameas 5", "True" },
    { "no is sameas none", "True" },
    { "qq is sequence", "True" },
    { "qq is iterable", "True" },
    { "qq is mapping", "False" },
    { "qq is string", "False" },
    { "d.items() is mapping", "False" },
    { "d.items() is sequence", "False" },
    { "html|e is escaped", "True" },
    { "n is not none", "True" },
    { "not n is none", "True" },
    { "n is eq(5) and 1", "1" },
};

/* Undefined values. */
static const struct jinja_case undefined[] = {
    { "qq", "" },
    { "qq|length", "0" },
    { "qq|list", "[]" },
    { "qq|upper", "" },
    { "qq~'x'", "x" },
    { "qq == zz", "True" },
    { "qq != 1", "True" },
    { "qq in [1]", "False" },
    { "'a' in qq", "False" },
    { "not qq", "True" },
    { "qq or 1", "1" },
    { "[qq]|length", "1" },
    { "qq|join", "" },
    { "qq|string", "" },
    { "qq|trim", "" },
    { "qq|default({})|tojson", "{}" },
    { "qq|items|list", "[]" },
    { "qq|first", "" },
    { "(qq|first) is defined", "False" },
    { "qq is sameas zz", "False" },
    { "qq|replace('a','b')", "" },
    { "qq|sum", "0" },
    { "qq|map('upper')|list", "[]" },
    { "qq|selectattr('x')|list", "[]" },
    { "qq|sort", "[]" },
    { "qq|unique|list", "[]" },
    { "qq|reverse|list", "[]" },
    { "qq|batch(2)|list", "[]" },
};

static void test_statements(void **state)
{
    (void)state;
    JINJA_CHECK(statements, false);
}

static void test_builtin_tests(void **state)
{
    (void)state;
    JINJA_CHECK(tests_of_is, true);
}

static void test_undefined(void **state)
{
    (void)state;
    JINJA_CHECK(undefined, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_builtin_tests),
        cmocka_unit_test(test_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
