#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The status page in headless Chromium: figures from /metrics, charts, pause, errors."""
import time

from cases import run_tests

METRICS = """# TYPE quire_build_info gauge
quire_build_info{version="9.8.7"} 1
quire_requests_running{model="a"} 3
quire_requests_running{model="b \\"q\\" \\\\ x"} 2
quire_requests_waiting{model="a"} 7
quire_prompt_tokens_total{model="a"} 200
quire_prompt_cached_tokens_total{model="a"} 50
quire_model_open{model="a"} 1
quire_model_memory_bytes{model="a"} 1610612736
quire_kv_blocks{model="a"} 100
quire_kv_blocks_used{model="a"} 25
quire_answers_total{model="a",finish_reason="stop"} 10
quire_answers_total{model="a",finish_reason="length"} 2
nonsense line without a value
quire_bad NaN
"""


def facts(page):
    return dict(page.run("[...document.querySelectorAll('#facts div')].map((d) => [d.children[0].innerText, d.children[1].innerText])"))


def open_status(page, mock):
    page.open(mock.url + "status")
    page.wait("document.querySelector('#facts div')")


def test_figures(page, mock):
    mock.metrics = lambda: METRICS
    open_status(page, mock)
    shown = facts(page)
    assert shown["Running"] == "5" and shown["Waiting"] == "7" and shown["Answers"] == "12", shown
    assert shown["Cache hits"] == "25%" and shown["Version"] == "9.8.7" and shown["Uptime"] == "–", shown
    rows = page.run("[...document.querySelectorAll('#models tbody tr')].map((r) => [...r.children].map((c) => c.innerText))")
    assert rows[0] == ["a", "loaded", "1.5 GiB", "3", "7", "12", "0", "25 / 100", "25%"], rows
    assert rows[1][0] == 'b "q" \\ x' and rows[1][1] == "not loaded", rows


def test_rates_and_quantiles(page, mock):
    open_status(page, mock)
    page.wait("status.readings.length >= 3", 30)
    label = page.run("document.querySelectorAll('.chart svg')[0].getAttribute('aria-label')")
    assert label.startswith("Tokens per second: Generated "), label
    rate = page.run("perSecond(status.readings[0], status.readings.at(-1), 'quire_engine_tokens_sampled_total')")
    assert 30 < rate < 50, "40 tokens per second are sampled"
    medians = page.run("[0.25, 0.5, 0.99].map((q) => quantileBetween(status.readings[0].metrics, status.readings.at(-1).metrics, 'quire_inter_token_latency_seconds', q))")
    assert abs(medians[0] - 0.01 * 0.25 / 0.3) < 1e-6 and abs(medians[1] - 0.015) < 1e-6 and abs(medians[2] - 0.05) < 1e-6, medians
    assert page.run("quantileBetween(status.readings[0].metrics, status.readings[0].metrics, 'quire_inter_token_latency_seconds', 0.5)") is None


def test_pause(page, mock):
    open_status(page, mock)
    page.click("#pause")
    page.wait("document.querySelector('#pause').innerText === 'Resume'")
    count = page.run("status.readings.length")
    time.sleep(2.5)
    assert page.run("status.readings.length") == count
    page.click("#pause")
    page.wait(f"status.readings.length > {count}")


def test_history_is_bounded(page, mock):
    open_status(page, mock)
    page.click("#pause")
    page.run("""(() => {
        const { metrics } = status.readings[0];
        const start = Date.now();
        for (let i = 0; i < 200; i++) addReading({ time: start + 2000 * i, metrics });
    })()""")
    assert page.run("status.readings.length") == 151 and page.run("status.charts[0].points.length") == 151


def test_errors(page, mock):
    mock.key = "secret-key"
    page.open(mock.url + "status")
    page.wait("document.querySelector('#notice').innerText.includes('needs an API key')")
    page.click("#key")
    page.type("secret-key")
    page.key("Enter")
    page.wait("document.querySelector('#facts div') && document.querySelector('#notice').hidden")
    assert "secret-key" not in page.run("document.documentElement.outerHTML")
    mock.close()
    page.wait("document.querySelector('#notice').innerText === 'The server cannot be reached.'")


if __name__ == "__main__":
    run_tests(globals())
