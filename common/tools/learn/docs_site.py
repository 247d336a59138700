#!/usr/bin/env python3
"""Builds the pages as a site, serves it on this machine, or tests it in a browser.

usage: ./learn docs [--port N]           build it, and serve it until Ctrl-C
       ./learn docs --build [--base /X/] only build it, into build/site; --base: for a place below a host's root
       ./learn docs --check              build it and open every page in headless Chromium
"""
import argparse
import contextlib
import fcntl
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import page_modules
import project
from project import ROOT, die, say
import traces

project.program = "learn docs"

SITE = ROOT / "docs/site"
OUT = ROOT / "build/site"
TRACES = ROOT / "build/traces"  # docs/site/project.js knows the folder, too
LEAST_NODE = 18
FIRST_PORT, PORTS = 8000, 50


# ---- what it needs


def run(*words, **env):
    """Runs a command in docs/site, shown as the rest of `learn` shows them. Stdout stays for the site's address."""
    told = [f"{name}={value}" for name, value in env.items()]
    say("+ " + shlex.join(["cd", "docs/site"]) + " && " + " ".join([*told, shlex.join(words)]))
    return subprocess.run(words, cwd=SITE, env={**os.environ, **env}, stdout=sys.stderr).returncode


def node_version():
    if not shutil.which("node"):
        return 0
    said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout  # v20.1.0
    digits = said.strip().lstrip("v").split(".")[0]
    return int(digits) if digits.isdigit() else 0


def need_node():
    version, missing = node_version(), []
    if version < LEAST_NODE:
        missing.append(f"Node {LEAST_NODE} or newer ({f'version {version} is here' if version else 'there is none'})")
    if not shutil.which("npm"):
        missing.append("npm")
    if missing:
        die(f"the site needs {' and '.join(missing)}: on Debian `apt-get install nodejs npm`; elsewhere nodejs.org")


def find_browser(variable, *names):
    return next(filter(None, map(shutil.which, [os.environ.get(variable, ""), *names])), None)


def find_browsers():
    """As the tests ask for them; Firefox only where there is one."""
    chromium = find_browser("CHROMIUM", "chromium", "chromium-browser", "google-chrome")
    if not chromium:
        die("--check needs Chromium: on Debian `apt-get install chromium`; CHROMIUM=PATH names another one")
    return {"CHROMIUM": chromium, "FIREFOX": find_browser("FIREFOX", "firefox-esr", "firefox") or ""}


def installed():
    """Is what package-lock.json names in node_modules? npm keeps a copy of the file that it installed from."""
    mark = SITE / "node_modules/.installed"
    return mark.exists() and mark.read_text() == (SITE / "package-lock.json").read_text()


def install():
    if installed():
        return
    if run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error") != 0:
        die("npm could not install what docs/site/package-lock.json names, and says why above; it needs the internet "
            "once")
    shutil.copyfile(SITE / "package-lock.json", SITE / "node_modules/.installed")


# ---- building


@contextlib.contextmanager
def one_at_a_time():
    """Two builds at once would write into each other's folders: the second waits for the first."""
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build/site.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another ./learn docs builds the site: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_simulator(must):
    """What runs kernels in a page. Where something is missing, the site has no button for it, unless it `must`."""
    if packages := page_modules.missing_packages():
        reason = f"to edit and run kernels in the page needs {', '.join(packages)}: on Debian `apt-get install` brings it"
        die(reason) if must else say(reason)
        shutil.rmtree(page_modules.OUT / "site", ignore_errors=True)
    elif not page_modules.build():
        die("what runs kernels in a page could not be built; the reason stands above")


def record_traces():
    """What the figures step through, by the programs as they are now. Gives those that could not be recorded."""
    shutil.rmtree(TRACES, ignore_errors=True)
    left_out = []
    for number, figure in traces.FIGURES.items():
        for words in ([ROOT / "learn", "--cpu", "run", number + figure.part, "--list"],  # builds it
                      [sys.executable, ROOT / "common/tools/pages/traces.py", TRACES, number]):
            if subprocess.run(words, stdout=subprocess.DEVNULL).returncode != 0:
                left_out.append(number)
                break
    return left_out


def build(base):
    """Builds beside the old site and then takes its place: a failed build leaves the old one as it was."""
    fresh, old = OUT.with_name("site_next"), OUT.with_name("site_old")
    for folder in (fresh, old):
        shutil.rmtree(folder, ignore_errors=True)
    if run("npm", "run", "--silent", "build", SITE_OUT=str(fresh), SITE_BASE=base) != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        die("the site could not be built; the reason stands above")
    if OUT.exists():
        OUT.rename(old)
    fresh.rename(OUT)
    shutil.rmtree(old, ignore_errors=True)
    say(f"The site is in {OUT.relative_to(ROOT)}/.")


# ---- serving


def free_port(port):
    """The asked port, or the first free one from FIRST_PORT on."""
    for each in [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            socket.create_server(("", each)).close()
            return each
        except OSError as error:
            reason = os.strerror(error.errno)
    return die(f"cannot serve on port {port}: {reason}; leave --port out, and a free one is taken" if port else
               f"no port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free: choose one with --port")


def preview(port):
    """How VitePress serves the site: a command in docs/site, and its environment."""
    return ["node_modules/.bin/vitepress", "preview", ".", "--port", str(port)], {**os.environ, "SITE_OUT": str(OUT)}


def wait_for(port, serving):
    while serving.poll() is None:
        try:
            return socket.create_connection(("localhost", port)).close()
        except ConnectionError:
            time.sleep(0.1)
    die("the site is not served; the reason stands above")


def check(port, browsers):
    """Runs the browser tests on the site, while it is served."""
    words, env = preview(port)
    with subprocess.Popen(words, cwd=SITE, env=env, stdout=sys.stderr) as serving:
        try:
            wait_for(port, serving)
            return run("npm", "run", "--silent", "check", **browsers, SITE_DIR=str(OUT),
                       SITE_URL=f"http://localhost:{port}")
        finally:
            serving.terminate()


def serve(port):
    """Becomes the server, which says the address and ends at Ctrl-C."""
    words, env = preview(port)
    os.chdir(SITE)
    os.execve(words[0], words, env)


# ---- the command line


def base_path(word):
    if not word.startswith("/"):
        raise argparse.ArgumentTypeError(f"'{word}' does not begin with /")
    return word if word.endswith("/") else word + "/"


def main():
    parser = argparse.ArgumentParser(prog="./learn docs", add_help=False, allow_abbrev=False,
                                     usage="./learn docs [--port N] | --build [--base /X/] | --check")
    parser.add_argument("--port", type=int)
    parser.add_argument("--base", type=base_path, default="/")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--build", action="store_true")
    what.add_argument("--check", action="store_true")
    words = parser.parse_args()
    if words.port is not None and not 0 < words.port < 65536:
        die(f"there is no port {words.port}: choose one from 1 to 65535")
    if words.base != "/" and not words.build:
        die("--base is for a site that another host serves: use it with --build")
    need_node()
    browsers = find_browsers() if words.check else None
    port = None if words.build else free_port(words.port)  # a port that is taken is said at once
    with one_at_a_time():
        install()
        build_simulator(words.check)
        if left_out := record_traces():
            reason = f"there is no figure to step through for {', '.join(left_out)}; the reason stands above"
            die(reason) if words.build or words.check else say(reason)
        build(words.base)
    if words.check:
        sys.exit(check(port, browsers))
    if port:
        serve(port)


if __name__ == "__main__":
    main()
