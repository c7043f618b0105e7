# SPDX-License-Identifier: Apache-2.0
"""Options of quire-server: sources and their order, every kind of bad value, configuration files,
--help, man page, docs/server.md and completion against the table (--list-options), and options that exit."""
import hashlib
import os
import re
import socket
import subprocess
import tempfile
from harness import BUNDLED, ROOT, Server, binary

USAGE, DATAERR, NOINPUT, CONFIG = 64, 65, 66, 78
temporary = tempfile.TemporaryDirectory(prefix="quire-options-")  # removed when the interpreter exits
folder = temporary.name
clean = {k: v for k, v in os.environ.items() if not k.startswith("QUIRE_ARG_")}


def run(*args, env=None, text=None):
    """Returns (exit code, standard output, standard error)."""
    done = subprocess.run([binary(), *args], capture_output=True, text=True, input=text or "",
                          env={**clean, **(env or {})}, timeout=20)
    return done.returncode, done.stdout, done.stderr


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def effective(*args, env=None):
    """The options that differ from the defaults."""
    code, out, err = run("--check-config", *args, env=env)
    assert code == 0, (args, err)
    return out.splitlines()


def refuse(code, *parts, args=(), env=None):
    """The program exits with the code and a line that has all the parts."""
    got, out, err = run("--check-config", *args, env=env)
    assert got == code and out == "", (args, got, out, err)
    assert err.count("\n") == 1 and err.startswith("quire-server: "), (args, err)
    for part in parts:
        assert part in err, (args, part, err)


def refuse_config(text, *parts, code=CONFIG):
    path = write("bad.conf", text)
    refuse(code, *parts, args=["--config", path])


def check_sources():
    assert effective() == []
    assert effective("--port", "1", "--port=2") == ["port 2"]  # the last one counts
    assert effective("-ctk", "q8_0", "-t", "auto") == ["cache-type-k int8"]
    assert effective("--ssl-cert-file", BUNDLED, "--ssl-key-file", BUNDLED)[0] == f"tls-cert {BUNDLED}"
    assert effective("--max-body=1.5MiB", "--idle-timeout", "0.1") == ["max-body 1572864", "idle-timeout 0.1"]
    assert effective("--metrics", "--slots", "--jinja", "-cb") == []
    env = {"QUIRE_ARG_PORT": "1", "QUIRE_ARG_CTX_SIZE": "5", "QUIRE_ARG_SANDBOX": "on",
           "QUIRE_ARG_NO_WEB": "0", "QUIRE_ARG_ALIAS": "a=b", "QUIRE_ARG_HOST": ""}
    assert effective(env=env) == ["alias a=b", "ctx-size 5", "port 1", "sandbox on"]
    config = write("a.conf", "# a comment\r\n\n\tport = 2  # another\nalias c=d\nalias e=f\r\n"
                             "cors-origin \"https://a.example\"\nno-web\nsandbox off\nhost a#b\nmax-queue\t7")
    got = effective("--config", config, env=env)
    assert got == ["alias c=d", "alias e=f", "ctx-size 5", "max-queue 7", 'host "a#b"', "port 2",
                   "cors-origin https://a.example", "no-web on"], got
    assert effective(env={"QUIRE_ARG_CONFIG": config}) == got[:2] + got[3:]
    got = effective("--config", config, "--alias=g=h", "--no-web=off", "--port", "3", env=env)
    assert got[0] == "alias g=h" and "port 3" in got and "no-web on" not in got and len(got) == 6, got
    assert effective("--compute", "f32") == ["compute f32"]
    assert effective("--compute", "f32", "--compute", "native") == []
    # what is printed is a configuration file with the same meaning
    odd = ["--host", "a b # c", "--tls-cert", BUNDLED, "--tls-key", BUNDLED, "--target-itl", "0.0375"]
    lines = effective(*odd)
    assert effective("--config", write("b.conf", "\n".join(lines))) == lines, lines


def check_bad_values():
    for option, values in {
            "--model": ["", "=x", "x="], "--alias": ["", "a", "=b", "a="], "--draft-model": [""],
            "--draft-max": ["-1", "x", "1.5", "2147483648"], "--ctx-size": ["", "1k"],
            "--compute": ["", "f16", "F32"],
            "--kv-mem": ["-1", "x", "1X", "1e30"], "--cache-type-k": ["f8", ""],
            "--target-itl": ["-1", "nan", "inf", "1s"], "--threads": ["1025", "-1", "many"],
            "--isa": ["avx9", ""], "--port": ["65536", "-1", "http"], "--log-format": ["xml"],
            "--log-level": ["trace", "INFO"], "--sandbox": ["maybe", ""], "--unix-socket": [""],
    }.items():
        for value in values:
            refuse(USAGE, option, f"'{value}' is not a valid", args=[f"{option}={value}"])
    refuse(USAGE, "--port needs a value: PORT", args=["--port"])
    refuse(USAGE, "unexpected argument 'x'", args=["x"])
    refuse(USAGE, "unexpected argument '-'", args=["-"])
    refuse(USAGE, "unknown option '--prot' (did you mean --port)", args=["--prot=3"])
    refuse(USAGE, "did you mean --api-key-file", args=["--api-key", "x"])
    refuse(USAGE, "unknown option '--gpu-layers' (see --help)", args=["--gpu-layers", "9"])
    refuse(USAGE, "QUIRE_ARG_PORT: 'x' is not a valid PORT", env={"QUIRE_ARG_PORT": "x"})
    refuse(USAGE, "QUIRE_ARG_SANDBOX: 'x'", env={"QUIRE_ARG_SANDBOX": "x"})
    refuse(USAGE, "--tls-cert needs --tls-key", args=["--tls-cert", BUNDLED])
    refuse(USAGE, "--tls-key needs --tls-cert", args=["--tls-key", BUNDLED])
    for option in "--max-body", "--max-connections", "--max-queue":
        refuse(USAGE, option, args=[option, "0"])
    for origin in "a.example", "https://", "https://a/b", "://a":
        refuse(USAGE, "--cors-origin", origin, args=["--cors-origin", origin])
    refuse(USAGE, "--otlp-endpoint", args=["--otlp-endpoint", "collector:4318"])
    refuse(USAGE, "--cors-origin", args=["--cors-origin=*"] * 65)  # more than the list holds
    keys = write("keys", "alice sha256:00\n")
    os.chmod(keys, 0o600)
    refuse(CONFIG, keys, args=["--api-key-file", keys])
    for option in "--model", "--draft-model", "--chat-template-file", "--kv-scales", "--api-key-file":
        refuse(NOINPUT, option, "/no/such/file", args=[option, "/no/such/file"])


def check_bad_config():
    refuse_config("port 1\n\nport 2", "bad.conf:3: port is already set in line 1")
    refuse_config("\nprot 1", "bad.conf:2: unknown option 'prot' (did you mean port)")
    refuse_config("--port 1", "bad.conf:1: '--port': write the name without dashes")
    refuse_config("qqqqqq", "unknown option 'qqqqqq' (see quire-server --help)")
    refuse_config("q" * 500, "unknown option 'qqqq")
    refuse_config("port", "bad.conf:1: port needs a value: PORT")
    refuse_config("port # 1", "bad.conf:1: port needs a value: PORT")
    refuse_config("port 1 2", "bad.conf:1: port: '1 2' is not a valid PORT")
    refuse_config("sandbox perhaps", "sandbox: 'perhaps' is not a valid value")
    refuse_config('host "a', "bad.conf:1: host: a value in quotes")
    refuse_config('host "a" b', "bad.conf:1: host: a value in quotes")
    refuse_config('host ""', "bad.conf:1: host needs a value")
    for name in "config x", "help", "version", "hash-key", "check-config", "list-options":
        refuse_config(name, f"bad.conf:1: {name.split()[0]} is for the command line only")
    assert effective("--config", write("c.conf", "metrics\nslots on")) == []
    refuse_config(b"port 1\nhost a\0b\n", "bad.conf:2: there is a NUL byte")
    refuse_config("#" * (1 << 20) + "\n", "larger than 1 MiB")
    refuse(NOINPUT, "--config", "/no/such/file", args=["--config", "/no/such/file"])
    refuse(NOINPUT, "--config", folder, args=["--config", folder])


def check_table():
    """--help, pages and completion have the options of the table."""
    listed = [line.split("|") for line in run("--list-options")[1].splitlines()]
    names = sorted(n for row in listed for n in row[0].split())
    assert len(listed) > 35, len(listed)
    text = run("--help")[1]
    assert max(map(len, text.splitlines())) <= 80
    for row in listed:
        rows = [rf"^  (-[a-z]+, )?{n}{' ' + re.escape(row[1]) if row[1] else ''}( |$)" for n in row[0].split()]
        assert any(re.search(r, text, re.M) for r in rows), ("--help", row)
    assert run("--version")[1].startswith("quire-server ")
    # --help wins over errors of a configuration file
    assert run("--config", "/no/such/file", "--help")[0] == 0
    page = open(os.path.join(ROOT, "docs/man/quire-server.1")).read()
    page = page[page.index(".SH OPTIONS"):page.index(".SH CONFIGURATION FILE")].replace("\\-", "-")
    heads = [re.sub(r'\\f.|"|^\.\w+ ', "", h) for h in re.findall(r"^\.TP\n(.*)", page, re.M)]
    heads = [re.sub(" +", " ", h).replace(" ,", ",") for h in heads]
    documented = sorted(n for h in heads for n in re.findall(r"(?:^|[ ,])(--?[a-z][a-z0-9-]*)", h))
    assert documented == names, set(documented) ^ set(names)
    for row in listed:
        last = [h for h in heads if any(re.search(rf"(^|[ ,]){n}(?![\w-])", h) for n in row[0].split())][0]
        assert not row[1] or row[1] in last, ("man page", row, last)
    page = open(os.path.join(ROOT, "docs/server.md")).read()
    page = page[page.index("## Options"):page.index("## Configuration file")]
    rows = [n for r in re.findall(r"^\| (`-.*?) \|", page, re.M) for n in re.findall(r"`(--?[a-z][a-z0-9-]*)", r)]
    assert sorted(rows) == names, set(rows) ^ set(names)
    check_completion(names)


def complete(*words):
    script = os.path.join(ROOT, "chat/quire.bash")
    code = (f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_quire "$1"; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", code, "bash", binary(), *words], capture_output=True, text=True)
    return sorted(set(done.stdout.split()))


def check_completion(names):
    write("model.gguf", "")
    write("notes.txt", "")
    assert complete("-") == names
    assert complete("--check") == ["--check-config"]
    assert complete("--log-level", "") == ["debug", "error", "info", "warn"]
    assert "int8" in complete("-ctk", "int") and "generic" in complete("--isa", "")
    assert complete("-m", folder + "/") == [folder + "/model.gguf"]
    assert folder + "/notes.txt" in complete("--config", folder + "/")


def check_hash_key():
    for key in "abc", "sk-Q~!#$%^&*", "x" * 1024:
        expected = "sha256:" + hashlib.sha256(key.encode()).hexdigest() + "\n"
        for end in "", "\n", "\r\n", "\nsecond line":
            assert run("--hash-key", text=key + end) == (0, expected, ""), key
    for key, part in ("", "no key"), ("\n", "no key"), ("x" * 1025, "longer"), ("a b", "printable"), ("\xe9", "printable"):
        code, out, err = run("--hash-key", text=key)
        assert code == DATAERR and out == "" and part in err, (key, code, err)


def check_supervisor():
    """Messages of the protocol of sd_notify, and the file of the Unix socket at the end."""
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = os.path.join(folder, "notify")
    notify.bind(path)
    notify.settimeout(30)
    with Server(["--log-format", "json"], env={"NOTIFY_SOCKET": path}) as server:
        assert notify.recv(100) == b"READY=1"
        assert server.log[0].startswith('{"time":"'), server.log
    assert notify.recv(100) == b"STOPPING=1"
    unix = os.path.join(folder, "http")
    process = subprocess.Popen([binary(), "--unix-socket", unix], env={**clean, "NOTIFY_SOCKET": path},
                               stderr=subprocess.PIPE)
    try:
        assert notify.recv(100) == b"READY=1"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(unix)
            client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 ")
        process.terminate()
        assert process.wait(30) == 0
        assert not os.path.exists(unix)
    finally:
        process.kill()
        process.communicate()


def check_one_port():
    with Server() as server:
        code, _, err = run("--port", str(server.port))
        assert code != 0 and f"127.0.0.1:{server.port}" in err and "another program" in err, err


check_sources()
check_bad_values()
check_bad_config()
check_hash_key()
check_table()
check_one_port()
check_supervisor()
print("options: passed")
