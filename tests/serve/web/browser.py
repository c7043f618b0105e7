# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium through the DevTools protocol, with the standard library only.

    with Browser() as browser:
        page = browser.page()
        page.open("http://127.0.0.1:8080/")
        page.wait("document.title !== ''")
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
TIMEOUT_SECONDS = 60


def program():
    """Path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    return named or next((p for p in map(shutil.which, PROGRAMS) if p), None)


class Browser:
    """Chromium with a fresh profile. Messages are JSON ended by a NUL, on two pipes."""

    def __init__(self, language="en-US"):
        self.profile = tempfile.mkdtemp(prefix="quire-web-")
        self.downloads = os.path.join(self.profile, "downloads")
        os.mkdir(self.downloads)
        to_browser, from_browser = os.pipe(), os.pipe()
        command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=" + language,
                   "--user-data-dir=" + self.profile, "--remote-debugging-pipe", "about:blank"]
        self.process = self._start(command, to_browser[0], from_browser[1])
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.output = os.fdopen(to_browser[1], "wb", buffering=0)
        self.input = os.fdopen(from_browser[0], "rb")
        self.last_id = 0
        self.replies, self.events, self.changed = {}, [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    @staticmethod
    def _start(command, read_end, write_end):
        """The browser reads from descriptor 3 and writes to 4."""
        high = [os.dup2(read_end, 60), os.dup2(write_end, 61)]
        script = 'exec "$@" 3<&60 4>&61 60<&- 61>&-'
        process = subprocess.Popen(["bash", "-c", script, "chromium", *command], pass_fds=high, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for descriptor in high:
            os.close(descriptor)
        return process

    def _read(self):
        message = b""
        while True:
            data = self.input.read1(65536)
            if not data:
                break
            message += data
            *whole, message = message.split(b"\0")
            with self.changed:
                for one in whole:
                    value = json.loads(one)
                    if "id" in value:
                        self.replies[value["id"]] = value
                    else:
                        self.events.append(value)
                self.changed.notify_all()

    def call(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.output.write(json.dumps(message).encode() + b"\0")
        with self.changed:
            if not self.changed.wait_for(lambda: message["id"] in self.replies, TIMEOUT_SECONDS):
                raise TimeoutError(method)
            reply = self.replies.pop(message["id"])
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def wait_event(self, method, session, start):
        """Waits for an event of a tab, after the first `start` events."""
        def arrived():
            return any(e["method"] == method and e.get("sessionId") == session for e in self.events[start:])
        with self.changed:
            if not self.changed.wait_for(arrived, TIMEOUT_SECONDS):
                raise TimeoutError(method)

    def page(self, **options):
        return Page(self, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except Exception:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab with storage of its own, unless it is given the context of another. `problems` collects errors of scripts, of the console and of the page's policy."""

    def __init__(self, browser, width=1280, height=800, theme="light", language="en-US", context=None):
        self.browser = browser
        self.context = context or browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(domain + ".enable")
        browser.call("Browser.setDownloadBehavior", behavior="allow", browserContextId=self.context, downloadPath=browser.downloads)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Network.setUserAgentOverride", userAgent="quire-test", acceptLanguage=language)
        self.call("Page.setBypassCSP", enabled=False)
        self.resize(width, height)
        self.set_theme(theme)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_theme(self, theme):
        """Of the system."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, url, ready="!document.body.classList.contains('loading')"):
        seen = len(self.browser.events)
        self.call("Page.navigate", url=url)
        self.browser.wait_event("Page.loadEventFired", self.session, seen)
        self.wait(ready)

    def run(self, script):
        """Value of an expression, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, condition, seconds=20):
        """Until an expression is true; returns its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(condition)
            except RuntimeError as error:
                value, problem = None, error
            else:
                problem = None
            if value or value == {}:  # an element
                return value
            if time.monotonic() > end:
                raise AssertionError(f"timed out: {condition} {problem or ''}")
            time.sleep(0.03)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def count(self, selector):
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector):
        """A click of the mouse on the middle of an element."""
        place = self.wait(f"""(() => {{
            const node = document.querySelector({json.dumps(selector)});
            if (!node) return null;
            node.scrollIntoView({{block: "nearest"}});
            const box = node.getBoundingClientRect();
            return box.width ? [box.x + box.width / 2, box.y + box.height / 2] : null;
        }})()""")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, " ": 32}

    def key(self, key, code=None, alt=False, shift=False, ctrl=False):
        """Presses a key as a keyboard does."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 and not (alt or ctrl) else None)
        event = {"key": key, "code": code or key, "modifiers": alt * 1 + ctrl * 2 + shift * 8,
                 "windowsVirtualKeyCode": self.CODES.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def choose_file(self, selector, path):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[path])

    def screenshot(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    @property
    def problems(self):
        """Texts of errors so far. Failed requests are no errors: tests cause them on purpose."""
        found = []
        for event in list(self.browser.events):
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                if params["entry"]["source"] != "network":
                    found.append(params["entry"]["text"])
            elif event["method"] == "Audits.issueAdded" and "ContentSecurityPolicy" in params["issue"]["code"]:
                found.append(json.dumps(params["issue"]))
        return found

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
