/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_filter.c - filters; the expected output is that of Jinja2. */
#include "test_jinja.h"

/* Strings. */
static const struct jinja_case text[] = {
    { "s|upper", "HELLO WORLD" },
    { "s|lower", "hello world" },
    { "u|upper", "HÉLLO WÖRLD SS 日本" },
    { "u|lower", "héllo wörld ß 日本" },
    { "u|title", "Héllo Wörld SS 日本" },
    { "u|capitalize", "Héllo wörld ß 日本" },
    { "s|title", "Hello World" },
    { "\"foo-bar baz(qux\"|title", "Foo-Bar Baz(Qux" },
    { "s|length", "11" },
    { "u|length", "16" },
    { "s|replace('l','L')", "HeLLo WorLd" },
    { "s|replace('l','L',1)", "HeLlo World" },
    { "s|replace('','-')", "-H-e-l-l-o- -W-o-r-l-d-" },
    { "sp|trim", "pad" },
    { "s|trim('Hd')", "ello Worl" },
    { "s|first", "H" },
    { "s|last", "d" },
    { "l|first", "3" },
    { "l|last", "2" },
    { "e|first", "" },
    { "[]|last", "" },
    { "l|join", "312" },
    { "l|join('|')", "3|1|2" },
    { "users|join(', ',attribute='name')", "bob, Al, Cy" },
    { "mixed|join(',')", "1,a,None,True,2.5,[1],{'q': 'é\\n\"'}" },
    { "mixed|tojson", "[1, \"a\", null, true, 2.5, [1], {\"q\": \"é\\n\\\"\"}]" },
    { "mixed|tojson(indent=2)", "[\n  1,\n  \"a\",\n  null,\n  true,\n  2.5,\n  [\n    1\n  ],\n  "
                                "{\n    \"q\": \"é\\n\\\"\"\n  }\n]" },
    { "mixed|tojson(ensure_ascii=true)",
      "[1, \"a\", null, true, 2.5, [1], {\"q\": \"\\u00e9\\n\\\"\"}]" },
    { "d|tojson(sort_keys=true)", "{\"a\": 1, \"b\": \"x\", \"items\": 9, \"z\": null}" },
    { "nested|tojson(separators=(',',':'))", "{\"x\":{\"y\":[1,{\"k\":\"v\"}]}}" },
    { "nested|tojson(indent=4)",
      "{\n    \"x\": {\n        \"y\": [\n            1,\n            {\n                \"k\": "
      "\"v\"\n            }\n        ]\n    }\n}" },
    { "nested|tojson(indent='--')",
      "{\n--\"x\": {\n----\"y\": [\n------1,\n------{\n--------\"k\": "
      "\"v\"\n------}\n----]\n--}\n}" },
    { "[]|tojson(indent=2)", "[]" },
    { "{}|tojson", "{}" },
    { "\"é\\u2028<>&'\\x7f\"|tojson", "\"é\342\200\250<>&'\177\"" },
    { "(1,2)|tojson", "[1, 2]" },
    { "1e100|tojson", "1e+100" },
    { "0.1|tojson", "0.1" },
    { "{1:2,none:3,true:4,1.5:6}|tojson", "{\"1\": 4, \"null\": 3, \"1.5\": 6}" },
    { "{'b':1,'a':{'d':1,'c':2}}|tojson(sort_keys=true,indent=1)",
      "{\n \"a\": {\n  \"c\": 2,\n  \"d\": 1\n },\n \"b\": 1\n}" },
    { "s|wordcount", "2" },
    { "'a b, c-d'|wordcount", "4" },
    { "multi|indent", "one\n    two\n\n    three\n" },
    { "multi|indent(2,true)", "  one\n  two\n\n  three\n" },
    { "multi|indent('> ',first=true,blank=true)", "> one\n> two\n> \n> three\n> " },
    { "'a\\n\\nb'|indent(2)", "a\n\n  b" },
    { "''|indent", "" },
    { "'foo bar baz qux'|truncate(9)", "foo..." },
    { "'foo bar baz qux'|truncate(9,true)", "foo ba..." },
    { "'foo bar baz qux'|truncate(11)", "foo bar baz qux" },
    { "'foo bar baz qux'|truncate(11,false,'..',0)", "foo bar.." },
    { "'x'|center(5)", "  x  " },
    { "'xx'|center(5)~'|'", "  xx |" },
    { "'abc'|center(6)~'|'", " abc  |" },
    { "html|e", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&lt;/a&gt;" },
    { "html|escape|e", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&lt;/a&gt;" },
    { "html|forceescape", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&lt;/a&gt;" },
    { "html|safe", "<a href=\"x\">'&</a>" },
    { "(html|safe)+'<'", "<a href=\"x\">'&</a>&lt;" },
    { "'<'+(html|e)", "&lt;&lt;a href=&#34;x&#34;&gt;&#39;&amp;&lt;/a&gt;" },
    { "'a b/c?é'|urlencode", "a%20b/c%3F%C3%A9" },
    { "{'a b':'c&d','x':1}|urlencode", "a+b=c%26d&x=1" },
    { "[('a','/')]|urlencode", "a=%2F" },
};

/* Sorting, grouping and selection. */
static const struct jinja_case lists[] = {
    { "l|sort", "[1, 2, 3]" },
    { "l|sort(reverse=true)", "[3, 2, 1]" },
    { "users|sort(attribute='age')|map(attribute='name')|join(',')", "Al,Cy,bob" },
    { "users|sort(attribute='city,age')|map(attribute='name')|list", "['Cy', 'Al', 'bob']" },
    { "['b','A','a','B']|sort", "['A', 'a', 'b', 'B']" },
    { "['b','A','a','B']|sort(case_sensitive=true)", "['A', 'B', 'a', 'b']" },
    { "d|dictsort", "[('a', 1), ('b', 'x'), ('items', 9), ('z', None)]" },
    { "{'b':1,'A':2}|dictsort(by='value',reverse=true)", "[('A', 2), ('b', 1)]" },
    { "{'b':1,'A':2}|dictsort(true)", "[('A', 2), ('b', 1)]" },
    { "users|groupby('city')|list",
      "[('LA', [{'name': 'Cy', 'age': 4, 'city': 'LA'}]), ('NY', [{'name': 'bob', 'age': 5, "
      "'city': 'NY'}, {'name': 'Al', 'age': 3, 'city': 'ny'}])]" },
    { "users|groupby('city')|map(attribute='grouper')|list", "['LA', 'NY']" },
    { "users|groupby('city',case_sensitive=true)|length", "3" },
    { "l|sum", "6" },
    { "users|sum(attribute='age')", "12" },
    { "l|sum(start=10)", "16" },
    { "l|min", "1" },
    { "l|max", "3" },
    { "users|min(attribute='age')", "{'name': 'Al', 'age': 3, 'city': 'ny'}" },
    { "[]|max", "" },
    { "l|reverse|list", "[2, 1, 3]" },
    { "s|reverse", "dlroW olleH" },
    { "l|unique|list", "[3, 1, 2]" },
    { "['a','A','b']|unique|list", "['a', 'b']" },
    { "l|batch(2)|list", "[[3, 1], [2]]" },
    { "l|batch(2,'x')|list", "[[3, 1], [2, 'x']]" },
    { "l|slice(2)|list", "[[3, 1], [2]]" },
    { "l|slice(2,'f')|list", "[[3, 1], [2, 'f']]" },
    { "[1,2,3,4,5,6,7]|slice(3)|list", "[[1, 2, 3], [4, 5], [6, 7]]" },
    { "users|map(attribute='name')|list", "['bob', 'Al', 'Cy']" },
    { "users|map(attribute='q',default='D')|list", "['D', 'D', 'D']" },
    { "['a','b']|map('upper')|join", "AB" },
    { "users|selectattr('age','gt',3)|map(attribute='name')|list", "['bob', 'Cy']" },
    { "users|rejectattr('age','gt',3)|list", "[{'name': 'Al', 'age': 3, 'city': 'ny'}]" },
    { "l|select('odd')|list", "[3, 1]" },
    { "l|reject('odd')|list", "[2]" },
    { "[0,1,'']|select|list", "[1]" },
    { "users|selectattr('name')|list|length", "3" },
    { "l|select('divisibleby',3)|list", "[3]" },
    { "['a','b']|map('replace','a','z')|list", "['z', 'b']" },
    { "l|map('string')|join('-')", "3-1-2" },
    { "'a'|upper()|lower", "a" },
    { "l|map('float')|list", "[3.0, 1.0, 2.0]" },
    { "l|map('default',1)|list", "[3, 1, 2]" },
    { "users|map('attr','x')|list|length", "3" },
    { "users|map(attribute='name')|map('upper')|join(' ')", "BOB AL CY" },
    { "users|selectattr('city','equalto','NY')|first", "{'name': 'bob', 'age': 5, 'city': 'NY'}" },
    { "users|selectattr('city','in',['LA','NY'])|list|length", "2" },
    { "users|map('items')|first|first", "('name', 'bob')" },
    { "users|selectattr('nope','defined')|list", "[]" },
    { "users|selectattr('nope','undefined')|list|length", "3" },
    { "users|rejectattr('name','equalto','bob')|map(attribute='name')|list", "['Al', 'Cy']" },
    { "users|map(attribute='name')|sort|list", "['Al', 'bob', 'Cy']" },
    { "ll|map('first')|list", "[1, 3]" },
    { "ll|map('join','-')|list", "['1-2', '3-4']" },
    { "ll|sum(start=[])", "[1, 2, 3, 4]" },
    { "ll|map(attribute=0)|list", "[1, 3]" },
    { "ll|map(attribute='1')|list", "[2, 4]" },
    { "nested|attr('x') is defined", "False" },
    { "[nested]|map(attribute='x.y.1.k')|first", "v" },
};

/* Conversion and rounding. */
static const struct jinja_case numbers[] = {
    { "'42'|int", "42" },
    { "'42.7'|int", "42" },
    { "'x'|int", "0" },
    { "'x'|int(7)", "7" },
    { "'0x1f'|int(0,16)", "31" },
    { "'0b11'|int(base=2)", "3" },
    { "3.9|int", "3" },
    { "-3.9|int", "-3" },
    { "none|int", "0" },
    { "'3.5'|float", "3.5" },
    { "'x'|float", "0.0" },
    { "'x'|float(1.5)", "1.5" },
    { "' 7 '|int", "7" },
    { "'1_000'|int", "1000" },
    { "'1e3'|float", "1000.0" },
    { "'inf'|float", "inf" },
    { "'-nan'|float", "nan" },
    { "true|int", "1" },
    { "[1]|int(9)", "9" },
    { "3.14159|round(2)", "3.14" },
    { "2.5|round", "2.0" },
    { "3.5|round", "4.0" },
    { "2.675|round(2)", "2.67" },
    { "42|round", "42" },
    { "1234|round(-2)", "1200" },
    { "1234.5|round(-2)", "1200.0" },
    { "2.1|round(0,'ceil')", "3.0" },
    { "2.19|round(1,'floor')", "2.1" },
    { "-2.5|round", "-2.0" },
    { "-3|abs", "3" },
    { "3.5|abs", "3.5" },
    { "n|default(3)", "5" },
    { "zz|default(3)", "3" },
    { "zz|d", "" },
    { "''|default('x')", "" },
    { "''|default('x',true)", "x" },
    { "none|default('x')", "None" },
    { "none|d('x',boolean=true)", "x" },
    { "1000|filesizeformat", "1.0 kB" },
    { "1|filesizeformat", "1 Byte" },
    { "999|filesizeformat", "999 Bytes" },
    { "1500000|filesizeformat", "1.5 MB" },
    { "2048|filesizeformat(true)", "2.0 KiB" },
    { "{'a':1,'b':none,'c':'<x>'}|xmlattr", " a=\"1\" c=\"&lt;x&gt;\"" },
    { "{}|xmlattr", "" },
    { "{'a':1}|xmlattr(false)", "a=\"1\"" },
};

/* Filter chains and generators. */
static const struct jinja_case chains[] = {
    { "'' is string", "True" },
    { "1.0 is integer", "False" },
    { "1.0 is number", "True" },
    { "(l|map('string')) is iterable", "True" },
    { "(l|map('string')) is sequence", "False" },
    { "(l|map('string')) is string", "False" },
    { "'yes' if (l|select('gt',99)) else 'no'", "yes" },
    { "'yes' if (l|select('gt',99)|list) else 'no'", "no" },
    { "(l|map('string')|list)|length", "3" },
    { "l|reverse|first", "2" },
    { "'a;b'.split(';')|join('/')", "a/b" },
    { "s|list|unique|join", "Helo Wrd" },
    { "s|sort|join", " deHllloorW" },
    { "d.b.upper()", "X" },
    { "d['b'].upper()|lower", "x" },
    { "s.split(' ')[0].lower()[::-1]", "olleh" },
    { "[s.split()[0], n]|join('=')", "Hello=5" },
    { "(s~'!')|length", "12" },
    { "s|upper|replace('L','l')|trim('H')", "EllO WORlD" },
    { "'x'.join(l|map('string'))", "3x1x2" },
    { "'x'.join('abc')", "axbxc" },
    { "s in [s]", "True" },
    { "s in {s:1}", "True" },
    { "none in [none]", "True" },
    { "[1] in [[1]]", "True" },
    { "{} in [{}]", "True" },
    { "0 == false", "True" },
    { "'' == false", "False" },
    { "none == false", "False" },
    { "1 != '1'", "True" },
    { "'a' != 'b'", "True" },
    { "l == [3,1,2]", "True" },
    { "d.a == 1 and d.b == 'x'", "True" },
    { "1.0|int", "1" },
    { "1e10|int", "10000000000" },
    { "' '|length", "1" },
};

static void test_strings(void **state)
{
    (void)state;
    JINJA_CHECK(text, true);
}

static void test_sequences(void **state)
{
    (void)state;
    JINJA_CHECK(lists, true);
}

static void test_numbers(void **state)
{
    (void)state;
    JINJA_CHECK(numbers, true);
}

static void test_chains(void **state)
{
    (void)state;
    JINJA_CHECK(chains, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
