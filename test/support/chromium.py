"""A page in headless Chromium, driven by its DevTools protocol over a pipe."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The browser. Skips the test if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip(f"none of {', '.join(NAMES)} is installed: scripts/test does this as root")
    return found


#: The browser's errors for an expression whose page was replaced.
LOADING = ("Inspected target navigated or closed", "Promise was collected", "Cannot find default execution context")


class Loading(Exception):
    """An expression did not end, because the page that it ran in was replaced by another one."""


class Page:
    """One tab. It ends with the test."""

    def __init__(self, width=1400, height=900, dark=False):
        self._profile = tempfile.TemporaryDirectory()
        for_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # A process of root cannot have a sandbox.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={self._profile.name}"]
        # The browser reads from descriptor 3 and writes to descriptor 4.
        command = 'exec "$0" "$@" 3<&%d 4>&%d' % (for_browser, from_browser)
        self._process = subprocess.Popen(
            ["bash", "-c", command, find(), *options, *sandbox, "--remote-debugging-pipe", "about:blank"],
            pass_fds=(for_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(for_browser)
        os.close(from_browser)
        self._read = b""
        self._number = 0
        self._session = None
        #: What the page requested, and the errors of its script.
        self.requests, self.errors = [], []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def _message(self, deadline):
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._from, 1 << 16)
            assert data, "the browser has ended"
            self._read += data
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)

    def _call(self, method, **parameters):
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._to, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            message = self._message(deadline)
            if message.get("id") == self._number:
                if message.get("error", {}).get("message") in LOADING:
                    raise Loading(message)
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message):
        details = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"])
        elif message.get("method") == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(details["entry"])

    def open(self, url):
        self._call("Page.navigate", url=url)
        self.wait(f"location.href.startsWith({json.dumps(url.split('#')[0])}) && document.readyState === 'complete'")

    def eval(self, expression):
        """The value of an expression of JavaScript."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression, timeout=30.0):
        """Waits until an expression is true. The page may load again meanwhile."""
        deadline = time.monotonic() + timeout
        text = None
        while time.monotonic() < deadline:
            with contextlib.suppress(Loading):
                if self.eval(f"Boolean({expression})"):
                    return
                # The browser's own time between two looks.
                text = self.eval("new Promise((resolve) => setTimeout(() => resolve(document.body?.innerText), 50))")
        raise AssertionError(f"{expression} is not true: {text}")

    def press(self, key):
        """Presses a key, such as ArrowDown."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def roles(self):
        """Role and name of each element, as a screen reader gets them."""
        self._call("Accessibility.enable")
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        named = [(node.get("role", {}).get("value"), node.get("name", {}).get("value")) for node in nodes if not node["ignored"]]
        return [(role, name) for role, name in named if name]

    def thread_time(self):
        """Time in s that the processor has spent on the tasks of the page's main thread."""
        self._call("Performance.enable", timeDomain="threadTicks")
        metrics = {metric["name"]: metric["value"] for metric in self._call("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def screenshot(self, path):
        data = self._call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self._process.kill()
        self._process.wait(30)
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        with contextlib.suppress(OSError):
            self._profile.cleanup()
