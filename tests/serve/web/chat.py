#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The chat page in headless Chromium: messages, branches, errors, conversations that stay."""
import os
import time

from cases import answers, ask, open_chat, run_tests, send, texts, wait_idle

LONG = [f"word{i} " for i in range(80)]
ANSWERS = {
    "slow": {"pieces": LONG, "delay": 0.02},
    "think": {"thinking": ["Let me ", "see."], "pieces": ["Done."]},
    "tags": {"pieces": ["<think>", "hidden ", "plan</th", "ink>\n", "shown"]},
    "tool": {"calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": ""}},
                       {"index": 0, "function": {"arguments": '{"city":'}}, {"index": 0, "function": {"arguments": '"Oslo"}'}}],
             "finish": "tool_calls"},
    "12 degrees": {"pieces": ["It is 12 degrees in Oslo."]},
    "bad": {"status": 400, "error": {"message": "temperature must be between 0 and 2.", "param": "temperature"}},
    "busy": {"status": 429, "error": {"message": "The queue is full.", "param": None}, "headers": [("Retry-After", "7")]},
    "broken": {"pieces": ["begin"], "error": {"message": "The engine has stopped.", "param": None}},
    "cut": {"pieces": ["half an "], "cut": True},
    "limit": {"pieces": ["one ", "two"], "finish": "length"},
}


def last_buttons(page):
    return page.run("[...document.querySelectorAll('.message:last-child .message-footer button')].map((b) => b.ariaLabel)")


def click_button(page, message, label):
    """A button below message number `message`; negative numbers count from the end."""
    page.run(f"""(() => {{
        const all = [...document.querySelectorAll('.message')];
        const found = [...all.at({message}).querySelectorAll('button')].find((b) => b.ariaLabel === "{label}" || b.textContent === "{label}");
        found.scrollIntoView(); found.click();
    }})()""")


def branch_text(page):
    return page.run("[...document.querySelectorAll('.branches')].map((b) => b.innerText.trim())")


def test_send_and_stream(page, mock):
    open_chat(page, mock)
    assert page.run("!document.querySelector('#empty').hidden")
    send(page, "slow")
    page.wait("document.querySelector('.message.assistant .content').innerText.includes('word5')")
    assert page.run("chat.running !== null"), "the answer is shown before its end"
    assert page.run("document.querySelector('#send').hidden && !document.querySelector('#stop').hidden")
    wait_idle(page)
    assert answers(page) == ["".join(LONG).strip()]
    assert mock.requests[0]["messages"] == [{"role": "user", "content": "slow"}]
    assert mock.requests[0]["stream"] is True and mock.requests[0]["model"] == "tiny"
    assert not {"temperature", "seed", "response_format", "tools"} & set(mock.requests[0]), "unset parameters are not sent"
    footer = page.text(".message.assistant .message-footer")
    assert "80 tokens" in footer and "tokens/s" in footer and "first token after" in footer, footer
    assert page.text("#context-text") == "84 of 2,048 tokens"
    ask(page, "again")
    assert [m["role"] for m in mock.requests[1]["messages"]] == ["user", "assistant", "user"]


def test_stop_and_continue(page, mock):
    open_chat(page, mock)
    send(page, "slow")
    page.wait("document.querySelector('.message.assistant .content').innerText.includes('word5')")
    page.click("#stop")
    wait_idle(page)
    part = answers(page)[0]
    assert "word5" in part and "word79" not in part
    assert "Stopped" in page.text(".message.assistant .message-footer")
    end = time.time() + 10
    while mock.aborted == 0 and time.time() < end:
        time.sleep(0.05)
    assert mock.aborted == 1, "the server learns that nobody waits"
    mock.answers["slow"] = {"pieces": ["and the rest."]}
    click_button(page, -1, "Continue the answer")
    wait_idle(page)
    assert mock.requests[1]["messages"][-1]["role"] == "assistant"
    assert mock.requests[1]["messages"][-1]["content"].strip() == part
    assert answers(page) == [part + " and the rest."]


def test_escape_stops(page, mock):
    open_chat(page, mock)
    send(page, "slow")
    page.wait("document.querySelector('.message.assistant .content').innerText.includes('word3')")
    page.key("Escape")
    wait_idle(page)
    assert "word79" not in answers(page)[0]


def test_branches(page, mock):
    open_chat(page, mock)
    ask(page, "first")
    ask(page, "second")
    click_button(page, 0, "Edit")
    page.run("document.querySelector('.edit-box').value = ''")
    page.type("changed")
    page.key("Enter", ctrl=True)
    page.wait("chat.running === null && document.querySelectorAll('.message').length === 2")
    assert texts(page, "user") == ["changed"] and answers(page) == ["You said: changed"]
    assert branch_text(page) == ["2 / 2"]
    assert mock.requests[-1]["messages"] == [{"role": "user", "content": "changed"}]
    click_button(page, 0, "Previous version")
    assert texts(page, "user") == ["first", "second"]
    mock.answers["second"] = {"pieces": ["another answer"]}
    click_button(page, -1, "Answer again")
    wait_idle(page)
    assert answers(page) == ["You said: first", "another answer"]
    assert branch_text(page) == ["1 / 2", "2 / 2"]
    click_button(page, -1, "Previous version")
    assert answers(page)[-1] == "You said: second"
    click_button(page, -1, "Edit")
    page.run("document.querySelector('.edit-box').value = 'my own answer'")
    click_button(page, -1, "Save")
    assert answers(page)[-1] == "my own answer" and branch_text(page)[-1] == "3 / 3"
    assert len(mock.requests) == 4, "an edited answer needs no request"


def test_reload_keeps_conversations(page, mock):
    open_chat(page, mock)
    ask(page, "remember me")
    page.click("#new-chat")
    ask(page, "another chat")
    open_chat(page, mock)
    page.wait("document.querySelectorAll('.message').length === 2")
    assert texts(page, "user") == ["another chat"]
    titles = page.run("[...document.querySelectorAll('.list-row .open')].map((b) => b.innerText)")
    assert titles == ["another chat", "remember me"], titles
    page.click(".list-row:nth-child(2) .open")
    page.wait("document.querySelector('.message.user .content').innerText.trim() === 'remember me'")


def test_two_tabs(page, mock):
    open_chat(page, mock)
    ask(page, "first")
    other = page.browser.page(context=page.context)
    open_chat(other, mock)
    other.click(".list-row .open")
    other.wait("document.querySelectorAll('.message').length === 2")
    ask(other, "second")
    page.wait("document.querySelectorAll('.message').length === 4")
    assert texts(page, "user") == ["first", "second"]
    other.run("renameConversation(chat.conversation.id, 'From the other tab')")
    page.wait("document.querySelector('.list-row .open').innerText === 'From the other tab'")


def test_answer_in_the_background(page, mock):
    """Another chat can be read while an answer streams; coming back shows it growing."""
    open_chat(page, mock)
    ask(page, "old chat")
    page.click("#new-chat")
    send(page, "slow")
    page.wait("chat.running?.chunks > 3")
    page.click(".list-row:nth-child(2) .open")
    page.wait("document.querySelector('.message.user .content').innerText.trim() === 'old chat'")
    assert page.run("chat.running !== null && document.querySelector('#send').hidden")
    page.wait("chat.running === null")
    assert answers(page) == ["You said: old chat"]
    assert page.run("[...document.querySelectorAll('.message-footer button')].every((b) => !b.disabled)")
    page.wait("document.querySelectorAll('.list-row').length === 2")
    page.click(".list-row:nth-child(1) .open")
    page.wait("document.querySelector('.message.assistant .content').innerText.includes('word79')")


def test_draft_stays(page, mock):
    open_chat(page, mock)
    page.run("document.querySelector('#input').focus()")
    page.type("half a thought")
    open_chat(page, mock)
    assert page.run("document.querySelector('#input').value") == "half a thought"
    page.key("Enter")
    wait_idle(page)
    open_chat(page, mock)
    assert page.run("document.querySelector('#input').value") == ""


def test_list(page, mock):
    open_chat(page, mock)
    for text in ("apples and pears", "bananas", "cherries"):
        page.click("#new-chat")
        ask(page, text)
    page.run("document.querySelector('#search').focus()")
    page.type("said PEARS")
    page.wait("document.querySelectorAll('.list-row').length === 1")
    assert page.text(".list-row") == "apples and pears"
    page.run("[...document.querySelectorAll('.list-row button')][1].click()")
    page.type("Fruit")
    page.key("Enter")
    page.wait("document.querySelector('.list-row .open')?.innerText === 'Fruit'")
    page.run("document.querySelector('#search').value = ''; document.querySelector('#search').dispatchEvent(new Event('input'))")
    page.wait("document.querySelectorAll('.list-row').length === 3")
    page.run("[...document.querySelectorAll('.list-row')].find((r) => r.innerText === 'bananas').querySelectorAll('button')[2].click()")
    page.click("#confirm .danger")
    page.wait("document.querySelectorAll('.list-row').length === 2")
    open_chat(page, mock)
    page.wait("document.querySelectorAll('.list-row').length === 2")
    assert page.run("[...document.querySelectorAll('.list-row .open')].map((b) => b.innerText)") == ["cherries", "Fruit"]


def test_thinking_is_folded(page, mock):
    open_chat(page, mock)
    ask(page, "think")
    assert answers(page) == ["Done."]
    assert page.run("!document.querySelector('.fold').open && document.querySelector('.fold p').textContent") == "Let me see."
    ask(page, "tags")
    assert answers(page)[-1] == "shown"
    assert page.run("[...document.querySelectorAll('.fold p')].at(-1).textContent") == "hidden plan"
    assert [m["content"] for m in mock.requests[1]["messages"]] == ["think", "Done.", "tags"]


def test_tools(page, mock):
    open_chat(page, mock)
    page.click("#open-settings")
    page.click("#set-useTools")
    page.type('[{"type": "function", "function": {"name": "get_weather"}}]')
    page.key("Escape")
    ask(page, "tool")
    assert mock.requests[0]["tools"][0]["function"]["name"] == "get_weather"
    assert page.text(".calls summary").strip() == "Call of get_weather"
    assert page.run("document.querySelector('.calls code').textContent") == '{\n  "city": "Oslo"\n}'
    page.click(".tool-form textarea")
    page.type("12 degrees")
    page.click(".tool-form button")
    page.wait("document.querySelectorAll('.message').length === 4 && chat.running === null")
    assert answers(page)[-1] == "It is 12 degrees in Oslo."
    sent = mock.requests[1]["messages"]
    assert sent[1]["tool_calls"] == [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}]
    assert sent[2] == {"role": "tool", "content": "12 degrees", "tool_call_id": "call_1"}


def test_settings_are_sent(page, mock):
    open_chat(page, mock)
    page.click("#open-settings")
    values = {"temperature": "0.5", "top_p": "0.9", "top_k": "40", "min_p": "0.05", "repeat_penalty": "1.1", "max_tokens": "64", "seed": "7"}
    for name, value in values.items():
        page.click(f"#set-{name}")
        page.type(value)
    page.click("#set-stop")
    page.run("document.querySelector('#set-stop').value = 'END\\n\\\\n\\\\n'; "
             "document.querySelector('#set-stop').dispatchEvent(new Event('change'))")
    page.click("#set-system")
    page.type("Be brief.")
    page.click("#set-useSchema")
    page.type('{"type": "object"}')
    page.key("Escape")
    ask(page, "hello")
    sent = mock.requests[0]
    assert {name: sent[name] for name in values} == {name: float(value) for name, value in values.items()}
    assert sent["stop"] == ["END", "\n\n"]
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True}}
    page.click("#new-chat")
    assert page.run("chat.conversation.settings.temperature") == 0.5, "a new chat starts with the settings used last"
    assert page.run("chat.conversation.settings.system") == ""


def test_errors(page, mock):
    open_chat(page, mock)
    ask(page, "bad")
    assert page.text(".problem").startswith("temperature must be between 0 and 2.\n\nParameter: temperature")
    ask(page, "busy")
    assert "Try again in 7 seconds." in page.run("document.querySelectorAll('.problem')[1].innerText")
    assert [m["content"] for m in mock.requests[1]["messages"]] == ["bad", "busy"], "an answer that failed is not sent"
    ask(page, "broken")
    assert answers(page)[-1] == "begin" and "The engine has stopped." in page.text(".message:last-child .problem")
    ask(page, "cut")
    assert answers(page)[-1] == "half an" and "connection was lost" in page.text(".message:last-child .problem")
    mock.answers["cut"] = {"pieces": ["whole"]}
    click_button(page, -1, "Try again")
    wait_idle(page)
    assert answers(page)[-1] == "whole" and branch_text(page)[-1] == "2 / 2"
    ask(page, "limit")
    assert "token limit reached" in page.text(".message:last-child .message-footer")
    mock.close()
    ask(page, "anyone there?")
    assert "The server cannot be reached." in page.text(".message:last-child .problem")


def test_bad_schema_is_refused_before_sending(page, mock):
    open_chat(page, mock)
    page.run("Object.assign(chat.conversation.settings, {useSchema: true, schema: '{oops'})")
    ask(page, "hello")
    assert page.text(".problem").startswith("JSON schema: this is not valid JSON") and mock.requests == []


def test_api_key(page, mock):
    mock.key = "secret-key"
    page.open(mock.url)
    page.wait("!document.querySelector('#notice').hidden")
    assert "needs an API key" in page.text("#notice")
    page.click("#notice .button")
    page.type("secret-key")
    page.key("Enter")
    page.wait("document.querySelector('#model').value === 'tiny'")
    page.run("document.querySelector('#settings').close()")
    ask(page, "hello")
    assert answers(page) == ["You said: hello"]
    assert page.run("sessionStorage['quire.key'] === 'secret-key' && !('quire.key' in localStorage)")
    assert "secret-key" not in page.run("JSON.stringify(chat.conversation)")


def test_storage_full(page, mock):
    open_chat(page, mock)
    page.run("""IDBObjectStore.prototype.put = () => { throw new DOMException("full", "QuotaExceededError"); }""")
    ask(page, "hello")
    assert answers(page) == ["You said: hello"]
    assert "storage of this browser is full" in page.text("#notice")


def export(page, button, name):
    folder = page.browser.downloads
    page.click("#open-settings")
    page.run(f"[...document.querySelectorAll('.button-grid button')].find((b) => b.innerText === '{button}').click()")
    page.run("document.querySelector('#settings').close()")
    path, end = os.path.join(folder, name), time.time() + 20
    while not (os.path.exists(path) and os.path.getsize(path)):
        assert time.time() < end, os.listdir(folder)
        time.sleep(0.05)
    return path


def test_export_and_import(page, mock):
    open_chat(page, mock)
    page.run("chat.conversation.settings.system = 'Be kind.'")
    ask(page, "Which fruit?")
    ask(page, "tool")
    mock.answers["Which fruit?"] = {"thinking": ["Sour ones."], "pieces": ["A lemon."]}
    click_button(page, 1, "Answer again")
    wait_idle(page)
    assert answers(page) == ["A lemon."]
    before = page.run("exportConversation(chat.conversation)")
    assert before["branches"], "the other branch is exported as well"
    markdown = open(export(page, "Export as Markdown", "which-fruit.md"), encoding="utf-8").read()
    assert markdown.startswith("# Which fruit?\n\n> Be kind.\n\n## You\n\nWhich fruit?\n\n## Assistant\n\nA lemon.\n")
    path = export(page, "Export as JSON", "which-fruit.json")
    page.run("deleteAllConversations().then(startNewChat)")
    page.wait("document.querySelectorAll('.list-row').length === 0")
    page.choose_file("#import-file", path)
    page.wait("document.querySelectorAll('.message').length >= 2")
    after = page.run("exportConversation(chat.conversation)")
    for part in ("title", "settings", "messages", "branches"):
        assert after[part] == before[part], (part, before[part], after[part])


def test_bad_imports(page, mock):
    open_chat(page, mock)
    cases = {"{": "not JSON", "[]": "messages must be an array", '{"messages": 5}': "messages must be an array",
             '[{"role": "king", "content": "x"}]': "messages[0].role", '{"conversations": []}': "no conversations",
             '{"conversations": [{"messages": [{"role": "user", "content": "x"}]}, {"messages": [null]}]}': "conversations[1].messages[0].role"}
    for i, (text, expected) in enumerate(cases.items()):
        path = os.path.join(page.browser.profile, f"import-{i}.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        page.choose_file("#import-file", path)
        page.wait(f"document.querySelector('#notice').innerText.includes({expected!r})")
    assert page.count(".list-row") == 0, "nothing of a bad file is kept"


if __name__ == "__main__":
    run_tests(globals(), ANSWERS)
