/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_answers.h - answers in all formats and what they mean. */
#ifndef TEST_CHAT_OUTPUT_ANSWERS_H
#define TEST_CHAT_OUTPUT_ANSWERS_H
#include <stdbool.h>

struct answer {
    const char *format, *text, *content, *reasoning;
    const char *calls; /* an array of [name, arguments] */
    bool thinking;
};

#define GET  "[[\"get\",{\"city\":\"Rome\",\"days\":2}]]"
#define TWO  "[[\"get\",{\"city\":\"Rome\"}],[\"now\",{}]]"
#define DSML "｜DSML｜"

static const struct answer answers[] = {
    { "hermes",
      "<think>\nhm\n</think>\n\nOn it.\n<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": "
      "\"Rome\", \"days\": 2}}\n</tool_call>",
      "On it.\n", "hm", GET, false },
    { "hermes",
      "<tool_call>{\"arguments\": {\"city\": \"Rome\"}, \"name\": "
      "\"get\"}</tool_call>\n<tool_call>{\"name\": \"now\"}</tool_call>",
      "", "", TWO, false },
    { "hermes",
      "<tool_call>\n{\"name\": \"get\", \"arguments\": \"{\\\"city\\\": \\\"Rome\\\", "
      "\\\"days\\\": 2}\"}\n</tool_call>",
      "", "", GET, false },
    { "hermes",
      "<tool_call>\n{\"type\": \"function\", \"function\": {\"name\": \"get\", \"arguments\": "
      "{\"city\": \"Rome\", \"days\": 2}}}\n</tool_call>",
      "", "", GET, false },
    { "hermes",
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": "
      "\"</tool_call>\n<think>\"}}\n</tool_call>",
      "", "", "[[\"get\",{\"city\":\"</tool_call>\\n<think>\"}]]", false },
    { "hermes", "a <tool_call> is markup", "a <tool_call> is markup", "", "[]", false },
    { "hermes", "<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>", "", "", "[]",
      false },
    { "hermes", "I think <tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", "",
      "I think", "[[\"now\",{}]]", true },
    { "hermes", "I think <tool_call> not yet</think>done", "done", "I think <tool_call> not yet",
      "[]", true },
    { "hermes", "<think>again</think>ok", "ok", "again", "[]", true },
    { "hermes", "a < b <tool", "a < b <tool", "", "[]", false },
    { "granite", "<think>x</think><response>hi</response>", "hi", "x", "[]", false },
    { "granite",
      "<|tool_call|>[{\"arguments\": {\"city\": \"Rome\", \"days\": 2}, \"name\": \"get\"}]", "",
      "", GET, false },
    { "granite",
      "<tool_call>[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\"}}, {\"name\": \"now\", "
      "\"arguments\": {}}]",
      "", "", TWO, false },
    { "granite_thought", "Here is my thought process: a b\n\nHere is my response: c", " c",
      " a b\n\n", "[]", false },
    { "granite4",
      "A <tool_call> {\"name\": \"get\", \"arguments\": \"{\\\"city\\\": \\\"Rome\\\"}\"} "
      "</tool_call> B\n<tool_call> {\"name\": \"now\", \"arguments\": {}} </tool_call> C",
      "A  B\n C", "", TWO, false },
    { "qwen3_coder_xml",
      "Hi<tool_call>\n<function=get>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n</"
      "parameter>\n</function>\n</tool_call>",
      "Hi", "", GET, false },
    { "qwen3_coder_xml",
      "<function=get>\n<parameter=city>\nRome\n<parameter=days>\n2\n</function>\n</tool_call>", "",
      "", GET, false },
    { "qwen3_coder_xml",
      "<tool_call>\n<function=get>\n<parameter=on>\nTrue\n</parameter>\n<parameter=tags>\n['a', "
      "1]\n</parameter>\n<parameter=opts>\n{\"k\": "
      "null}\n</parameter>\n<parameter=note>\nnull\n</parameter>\n<parameter=mixed>\n7\n</"
      "parameter>\n<parameter=unit>\nC\n</parameter>\n<parameter=free>\n[1]\n</parameter>\n</"
      "function>\n</tool_call>",
      "", "",
      "[[\"get\",{\"on\":true,\"tags\":[\"a\",1],\"opts\":{\"k\":null},\"note\":\"null\",\"mixed\":"
      "7,\"unit\":\"C\",\"free\":[1]}]]",
      false },
    { "qwen3_coder_xml",
      "<tool_call>\n<function=get>\n<parameter=city>\n  "
      "a\n\n</b>\n\n</parameter>\n<parameter=days>\nsoon\n</parameter>\n</function>\n</tool_call>",
      "", "", "[[\"get\",{\"city\":\"  a\\n\\n</b>\\n\",\"days\":\"soon\"}]]", false },
    { "qwen3_coder_xml", "<tool_call>\n<function=get>\n<parameter=city>\nRo", "", "",
      "[[\"get\",{\"city\":\"Ro\"}]]", false },
    { "seed_oss",
      "<seed:think>t</seed:think>ok<seed:tool_call>\n<function=get>\n<parameter=city>Rome</"
      "parameter>\n<parameter=days>2</parameter>\n</function>\n</seed:tool_call>",
      "ok", "t", GET, false },
    { "minimax_m2",
      "t</think>\n\nok <minimax:tool_call>\n<invoke name=\"get\">\n<parameter "
      "name=\"city\">Rome</parameter>\n<parameter "
      "name=\"days\">2</parameter>\n</invoke>\n</minimax:tool_call>",
      "ok ", "t", GET, true },
    { "minimax_m2",
      "<minimax:tool_call><invoke name=\"get\"><parameter name=\"note\">null</parameter><parameter "
      "name=\"free\">12</parameter></invoke><invoke name=\"now\"></invoke></minimax:tool_call>",
      "", "", "[[\"get\",{\"note\":null,\"free\":\"12\"}],[\"now\",{}]]", false },
    { "minimax_m2",
      "<minimax:tool_call><invoke name=\"get\"><parameter "
      "name=\"note\">nullable</parameter></invoke></minimax:tool_call>",
      "", "", "[[\"get\",{\"note\":\"nullable\"}]]", false },
    { "muse_glimmer", " to=self<|message|>t<|eom|><|start|>assistant to=user<|message|>ok<|eot|>",
      "ok", "t", "[]", false },
    { "muse_glimmer", "\n to=user<|message|>a <|start|> b", "a <|start|> b", "", "[]", false },
    { "muse_glimmer", "to=x is the syntax.", "to=x is the syntax.", "", "[]", false },
    { "muse_glimmer",
      " to=self<|message|>t<|eom|>\n<|start|>assistant to=get.get<|message|><atem:function_calls>\n"
      "<atem:invoke name=\"get.get\">\n<atem:parameter name=\"city\">Rome</atem:parameter>\n"
      "<atem:parameter name=\"days\">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"
      "<|eot|>",
      "", "t", GET, false },
    { "muse_glimmer",
      " to=self<|message|>t<|eom|><|start|>assistant to=user<|message|>One moment.<|eom|><|start|>"
      "assistant to=get.get<|message|><atem:function_calls>\n<atem:invoke name=\"get.get\">\n"
      "<atem:parameter name=\"city\">Rome</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"
      "<|eom|><|start|>assistant to=now<|message|><atem:function_calls>\n"
      "<atem:invoke name=\"now\">\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant "
      "to=self<|message|>u<|eom|><|start|>assistant<|message|>Done.",
      "One moment.\nDone.", "t\nu", TWO, false },
    { "muse_glimmer", /* calls in reasoning and content are text */
      " to=self<|message|><atem:function_calls>\n<atem:invoke name=\"now\"></atem:invoke><|eom|>"
      "<|start|>assistant to=user<|message|><atem:function_calls><atem:invoke name=\"now\">"
      "</atem:invoke></atem:function_calls>",
      "<atem:function_calls><atem:invoke name=\"now\"></atem:invoke></atem:function_calls>",
      "<atem:function_calls>\n<atem:invoke name=\"now\"></atem:invoke>", "[]", false },
    { "muse_glimmer",
      " to=get<|message|><atem:function_calls><atem:invoke name=\"get\"><atem:parameter "
      "name=\"city\">Ro",
      "", "", "[[\"get\",{\"city\":\"Ro\"}]]", false },
    { "muse_glimmer", " to=self<|message|>t<|eom|><|start|>assistant to=us", "", "t", "[]", false },
    { "step3",
      "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>get\n<steptml:invoke "
      "name=\"get\"><steptml:parameter name=\"city\">Rome</steptml:parameter><steptml:parameter "
      "name=\"days\"> 2 "
      "</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
      "", "", GET, false },
    { "step3",
      "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke "
      "name=\"now\"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
      "", "", "[[\"now\",{}]]", false },
    { "glm4_5_xml",
      "\n<think>t</think>\n<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Rome</"
      "arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
      "", "t", GET, false },
    { "glm4_5_xml",
      "<tool_call>get<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call><tool_call>now</"
      "tool_call>",
      "", "", TWO, false },
    { "deepseek_r1",
      "t</"
      "think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{"
      "\"city\": \"Rome\", \"days\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      "", "t", GET, true },
    { "deepseek_v3",
      "a<｜tool▁calls▁begin｜>function<｜tool▁sep｜>get\n```json\n{\"city\": "
      "\"Rome\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```"
      "json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      "a", "", TWO, false },
    { "deepseek_v3_1",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{\"city\": "
      "\"Rome\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><"
      "｜tool▁calls▁end｜>",
      "", "", TWO, false },
    { "deepseek_v3_2",
      "Hi.\n\n<" DSML "function_calls>\n<" DSML "invoke name=\"get\">\n<" DSML
      "parameter name=\"city\" string=\"true\">Rome</" DSML "parameter>\n<" DSML
      "parameter name=\"days\" string=\"false\">2</" DSML "parameter>\n</" DSML "invoke>\n</" DSML
      "function_calls>",
      "Hi.", "", GET, false },
    { "deepseek_v3_2",
      "<" DSML "tool_calls>\n<" DSML "invoke name=\"get\">\n{\"city\": \"Rome\"}\n</" DSML
      "invoke>\n<" DSML "invoke name=\"now\">\n</" DSML "invoke>\n</" DSML "tool_calls>",
      "", "", TWO, false },
    { "deepseek_v3_2",
      "<" DSML "function_calls>\n<" DSML "invoke name=\"get\">\n<" DSML
      "parameter name=\"arguments\" string=\"false\">{\"city\":\"Rome\",\"days\":2}</" DSML
      "parameter>\n</" DSML "invoke>\n</" DSML "function_calls>",
      "", "", GET, false },
    { "kimi_k2",
      "Ok <|tool_calls_section_begin|><|tool_call_begin|>functions.get:0 "
      "<|tool_call_argument_begin|>{\"city\": \"Rome\", \"days\": "
      "2}<|tool_call_end|><|tool_calls_section_end|>",
      "Ok ", "", GET, false },
    { "kimi_k2",
      "t<|tool_calls_section_begin|><|tool_call_begin|>get:1<|tool_call_argument_begin|>{\"city\": "
      "\"Rome\"}<|tool_call_end|><|tool_call_begin|>now:2<|tool_call_argument_begin|>{}",
      "", "t", TWO, true },
    { "kimi_k2",
      "<|tool_call_begin|>7<|tool_call_argument_begin|>{\"city\": \"Rome\", \"days\": "
      "2}<|tool_call_end|>",
      "", "", GET, false },
    { "mistral",
      "Sure[TOOL_CALLS] [{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}, "
      "\"id\": \"abc123XYZ\"}]",
      "Sure", "", GET, false },
    { "mistral",
      "[TOOL_CALLS][{\"id\": \"abc123XYZ\", \"arguments\": {\"city\": \"Rome\"}, \"name\": "
      "\"get\"}, {\"name\": \"now\", \"arguments\": {}}]",
      "", "", TWO, false },
    { "mistral_v11",
      "[THINK]t[/THINK]ok[TOOL_CALLS]get[CALL_ID]abc123XYZ[ARGS]{\"city\": "
      "\"Rome\"}[TOOL_CALLS]now[ARGS]{}",
      "ok", "t", TWO, false },
    { "magistral_think", "Before\n[THINK]t[/THINK]\nafter", "Before\n\nafter", "t", "[]", false },
    { "harmony",
      "<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>commentary<|message|>Ok.<"
      "|end|><|start|>assistant<|channel|>commentary to=functions.get "
      "<|constrain|>json<|message|>{\"city\": \"Rome\", \"days\": 2}<|call|>",
      "Ok.", "t", GET, false },
    { "harmony",
      " to=functions.get<|channel|>commentary <|constrain|>json<|message|>{\"city\": \"Rome\", "
      "\"days\": 2}",
      "", "", GET, false },
    { "harmony", "<|channel|>analysis<|message|>t<|channel|>final<|message|>Hi<|return|>", "Hi",
      "t", "[]", false },
    { "harmony", "Hello", "Hello", "", "[]", false },
    { "gemma4",
      "<|channel>thought\nt<channel|>ok<|tool_call>call:get{city:<|\"|>Rome<|\"|>,days:2}<tool_"
      "call|>",
      "ok", "t", GET, false },
    { "gemma4",
      "<|tool_call>call:get{tags:[<|\"|>a\"b<|\"|>,\"c\",1,[true,null]],opts:{<|\"|>k<|\"|>:{z:[]}}"
      ",city:<|\"|>a<|\"|>b<|\"|>}<tool_call|>",
      "", "",
      "[[\"get\",{\"tags\":[\"a\\\"b\",\"c\",1,[true,null]],\"opts\":{\"k\":{\"z\":[]}},\"city\":"
      "\"a\\\"b\"}]]",
      false },
    { "functiongemma",
      "<start_function_call>call:get{city:<escape>Rome<escape>,days:<escape>2<escape>}<end_"
      "function_call>",
      "", "", GET, false },
    { "functiongemma",
      "<start_function_call>call:get{city:<escape>Rome<escape>,on:true,tags:[1,<escape>a<escape>],"
      "days:<escape> 2 <escape>}<end_function_call>",
      "", "", "[[\"get\",{\"city\":\"Rome\",\"on\":true,\"tags\":[1,\"a\"],\"days\":2}]]", false },
    { "llama4_pythonic", "<|python_start|>[get(city='Rome', days=2)]<|python_end|>", "", "", GET,
      false },
    { "llama4_pythonic", "[get(city=\"Rome\"), now()]", "", "", TWO, false },
    { "llama4_pythonic", "[get(city=b'x'), get(city='Rome', days=2)]", "", "", GET, false },
    { "pythonic", "See [1] and [a, b] or [now], ok? [get(city='Rome', days=2)]",
      "See [1] and [a, b] or [now], ok? ", "", GET, false },
    { "pythonic",
      "[get(city='it\\'s \\u00e9 \\x41\\n', tags=(1, [2.5, -3], {'a': None}), on=True, days=0x)]",
      "[get(city='it\\'s \\u00e9 \\x41\\n', tags=(1, [2.5, -3], {'a': None}), on=True, days=0x)]",
      "", "[]", false },
    { "pythonic",
      "[get(city='it\\'s \\u00e9 \\x41\\n', tags=(1, [2.5, -3, .5], {'a': None, 2: {'s', 't'}}), "
      "on=True)]",
      "", "",
      "[[\"get\",{\"city\":\"it's é "
      "A\\n\",\"tags\":[1,[2.5,-3,0.5],{\"a\":null,\"2\":[\"s\",\"t\"]}],\"on\":true}]]",
      false },
    { "pythonic", "[get(city='''it's ''R''', days=2), python(code=\"\"\"a\"b\"\"c\"\"\")]", "", "",
      "[[\"get\",{\"city\":\"it's ''R\",\"days\":2}],[\"python\",{\"code\":\"a\\\"b\\\"\\\"c\"}]]",
      false },
    { "lfm2", "<think>t</think><|tool_call_start|>[get(city=\"Rome\"), now()]<|tool_call_end|>Done",
      "Done", "t", TWO, false },
    { "lfm2",
      "<|tool_call_start|>[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": "
      "2}}]<|tool_call_end|>",
      "", "", GET, false },
    { "lfm2", "<|tool_call_start|>[python(code='print('a, b')')]<|tool_call_end|>", "", "",
      "[[\"python\",{\"code\":\"print('a, b')\"}]]", false },
    { "olmo3", "ok<function_calls>get(city='Rome')\nnow()</function_calls>", "ok", "", TWO, false },
    { "llama3_json", "{\"name\": \"get\", \"parameters\": {\"city\": \"Rome\", \"days\": 2}}", "",
      "", GET, false },
    { "llama3_json",
      "{\"type\": \"function\", \"name\": \"get\", \"parameters\": {\"city\": \"Rome\"}}; "
      "{\"name\": \"now\", \"parameters\": {}}",
      "", "", TWO, false },
    { "llama3_json", "{\"name\": \"Bob\", \"age\": 3}", "{\"name\": \"Bob\", \"age\": 3}", "", "[]",
      false },
    { "llama3_json", "<|python_tag|>get.call(city=\"Rome\", days=2)<|eom_id|>", "", "", GET,
      false },
    { "llama3_python_tag", "<|python_tag|>print('a')\nx = {1: 2}", "", "",
      "[[\"python\",{\"code\":\"print('a')\\nx = {1: 2}\"}]]", false },
    { "functionary_v3_1",
      "<function=get>{\"city\": \"Rome\"}</function>\n<function=now>{}</function>", "", "", TWO,
      false },
    { "functionary_v3_2", "all\nHi\n>>>get\n{\"city\": \"Rome\"}>>>now\n{}", "Hi\n", "", TWO,
      false },
    { "functionary_v3_2", "python\nprint(1)", "", "", "[[\"python\",{\"code\":\"print(1)\"}]]",
      false },
    { "command_r7b",
      "<|START_THINKING|>t<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
      "\"tool_name\": \"get\", \"parameters\": {\"city\": \"Rome\"}},\n    {\"tool_call_id\": "
      "\"1\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
      "", "t", TWO, false },
    { "command_r7b", "<|START_RESPONSE|>Hi<|END_RESPONSE|>", "Hi", "", "[]", false },
    { "command_r_plus",
      "Action: ```json\n[\n    {\n        \"tool_name\": \"get\",\n        \"parameters\": "
      "{\"city\": \"Rome\", \"days\": 2}\n    }\n]```",
      "", "", GET, false },
    { "nemotron",
      "<think>t</think><TOOLCALL>[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", "
      "\"days\": 2}}]</TOOLCALL><SPECIAL_12>",
      "", "t", GET, false },
    { "apriel",
      "Here are my reasoning steps:\nt\n[BEGIN FINAL RESPONSE]\nok\n<tool_calls>[{\"name\": "
      "\"get\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}]</tool_calls>",
      "ok\n", "t", GET, false },
    { "hunyuan_a13b", "<think>\nt\n</think>\n<answer>\nok\n</answer>", "ok", "t", "[]", false },
    { "hunyuan_a13b",
      "<tool_calls>[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": "
      "2}}]</tool_calls>",
      "", "", GET, false },
    { "phi4", "functools[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}]",
      "", "", GET, false },
    { "firefunction",
      " functools[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\"}}, {\"name\": \"now\", "
      "\"arguments\": {}}]",
      "", "", TWO, false },
    { "xlam",
      "<think>t</think>```json\n[{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": "
      "2}}]\n```",
      "", "t", GET, false },
    { "apertus",
      "<|inner_prefix|>t<|inner_suffix|><|tools_prefix|>[{\"get\": {\"city\": \"Rome\"}}, "
      "{\"now\": {}}]<|tools_suffix|>",
      "", "t", TWO, false },
    { "gigachat3",
      "Ok<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get\", \"arguments\": "
      "{\"city\": \"Rome\", \"days\": 2}}",
      "Ok", "", GET, false },
    { "gigachat3",
      "<|function_call|>{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}", "",
      "", GET, false },
    { "internlm2",
      "Ok. <|action_start|><|plugin|>\n{\"name\": \"get\", \"parameters\": {\"city\": \"Rome\", "
      "\"days\": 2}}<|action_end|>",
      "Ok.", "", GET, false },
    { "generic_json",
      "{\"tool_calls\": [{\"name\": \"get\", \"arguments\": {\"city\": \"Rome\"}, \"id\": \"1\"}, "
      "{\"name\": \"now\", \"arguments\": {}, \"id\": \"2\"}]}",
      "", "", TWO, false },
    { "generic_json", "{\"response\": \"a \\\"b\\\" \\ud83d\\ude00\\n\"}", "a \"b\" 😀\n", "", "[]",
      false },
    { "generic_json", "[{\"name\": \"get\", \"parameters\": {\"city\": \"Rome\", \"days\": 2}}]",
      "", "", GET, false },
    { "generic_json", "{\"a\": [1, 2]}", "{\"a\": [1, 2]}", "", "[]", false },
    { "content_only", "<think>x</think> <tool_call>", "<think>x</think> <tool_call>", "", "[]",
      false },
};

#endif
