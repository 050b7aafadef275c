"""Sources into the deployed stack from files, and out of it: whole, once each, whatever comes between."""

import csv
import http.client
import io
import json
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from builders import every
from deployed import eventually
from wellspring import catalog

COMMAND = Path(sys.executable).with_name("wellspring")
SECRET = "canary-93d1"
HOST = "import.example"
MANY = 2_500
RARELY = ("--every", "3000d")
"""So that no planner run of this test finds them due."""
THROTTLED = b'{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}'


@pytest.fixture(autouse=True)
def tidy(deployed):
    """Leave no source of these tests behind."""
    yield
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(deployed.sources.remove, [source.source_id for source in stored(deployed)]))


def stored(deployed):
    """Return the sources of these tests: their hosts or their ids tell them."""
    everything = catalog.every(deployed.sources)
    return [one for one in everything if HOST in one.url or one.source_id.startswith("import-")]


def by_url(deployed):
    return {source.url: source for source in stored(deployed)}


def url(name):
    return f"https://{name}.{HOST}/feed"


def a_file(path, content):
    path.write_text(content)
    return path


def a_list_of(number, path, columns="url,enabled", rest=",false"):
    rows = "".join(f"{url(place)}{rest}\n" for place in range(number))
    return a_file(path, f"{columns}\n{rows}")


def test_a_csv_file_is_imported_and_repeating_it_changes_nothing(operator, deployed, publisher, tmp_path):
    file = a_file(
        tmp_path / "a.csv",
        "url;id;type;title;every;headers\n"
        f"{url('one')};import-one;website;One;2000d;\n"
        f'{url("two")};;;;;"{{""X-Token"": ""{SECRET}""}}"\n'
        f"{url('two')}#again;;;;;\n"
        f"{publisher.url('/import.example')};;;;;\n",
    )
    told = operator.well("sources", "import", file, *RARELY)
    assert "Added 3 sources to the local cloud at http://127.0.0.1:" in told.out
    assert "; 1 row names the same as another." in told.out
    found = by_url(deployed)
    one, two = found[url("one")], found[url("two")]
    assert (one.source_id, one.type, one.title) == ("import-one", "website", "One")
    assert (one.config.cadence.every_minutes, two.config.cadence.every_minutes) == (2000 * 1440, 3000 * 1440)
    assert (two.type, two.config.headers) == ("rss", {"X-Token": SECRET})
    assert all(source.next_fetch_at and source.due_shard for source in found.values())
    assert publisher.asked == [], "nobody is asked what the URLs are"

    again = operator.well("sources", "import", file, "--json").data
    assert again == {
        "sources": 3,
        "added": 0,
        "there_already": 3,
        "duplicates": 1,
        "errors": [],
        "interrupted": False,
        "dry_run": False,
    }
    assert by_url(deployed) == found


def test_opml_is_imported_from_a_pipe_after_a_dry_run(operator, deployed):
    opml = (
        '<opml version="2.0"><body><outline text="A folder">\n'
        f'<outline text="One" type="rss" xmlUrl="{url("one")}"/>\n'
        f'<outline text="Two" xmlURL="{url("two")}"/>\n'
        "</outline></body></opml>"
    ).encode()
    dry = operator.well("sources", "import", "-", "--format", "opml", "--dry-run", stdin=opml)
    name = catalog.id_of(url("one"))
    assert f"  line 2: {url('one')}  rss, adaptive, as {name}\n" in dry.out
    assert "Would add 2 sources to the local cloud" in dry.out and "Nothing was written." in dry.out
    assert stored(deployed) == []

    operator.well("sources", "import", "-", "--format", "opml", "--type", "website", *RARELY, stdin=opml)
    found = by_url(deployed)
    assert {(source.title, source.type) for source in found.values()} == {("One", "rss"), ("Two", "website")}


BAD = f"""[
{{"url": "{url("good")}"}},
{{"url": "ftp://{HOST}/"}},
{{"url": "{url("a")}?key={SECRET}", "type": "podcast"}},
{{"url": "{url("b")}", "config": {{"cadence": {{"mode": "sometimes"}}}}}},
{{"url": "https://x.com/someone"}}
]"""


def test_with_a_bad_row_nothing_is_written_and_every_mistake_is_told(operator, deployed, tmp_path):
    file = a_file(tmp_path / "bad.json", BAD)
    told = operator("sources", "import", file)
    assert (told.code, told.out) == (2, "")
    first, *mistakes, last = told.err.splitlines()
    assert first == f"4 rows of {file} cannot be added:"
    assert [line.partition(":")[0] for line in mistakes] == [f"  line {number}" for number in (3, 4, 5, 6)]
    assert f'{url("a")}?...  The type "podcast" is not known.' in mistakes[1]
    assert "cadence: input tag 'sometimes'" in mistakes[2]
    assert "name one with --owner" in mistakes[3]
    assert last == "Nothing was written. Mend the file, or add 1 good one without them: --skip-errors"
    assert SECRET not in told.err
    assert stored(deployed) == []

    as_json = operator("sources", "import", file, "--json")
    assert (as_json.code, as_json.data["added"], len(as_json.data["errors"])) == (2, 0, 4)
    assert set(as_json.data["errors"][0]) == {"line", "url", "error"}
    assert SECRET not in as_json.out


def test_good_rows_are_added_without_the_bad_ones_when_that_is_asked_for(operator, deployed, tmp_path):
    file = a_file(tmp_path / "bad.json", BAD)
    told = operator("sources", "import", file, "--skip-errors", *RARELY)
    assert told.code == 1
    assert "4 rows of" in told.err and "Added 1 source to" in told.out
    assert set(by_url(deployed)) == {url("good")}


def test_the_first_twenty_mistakes_are_listed_and_the_rest_is_counted(operator, tmp_path):
    file = a_file(tmp_path / "bad.csv", "url\n" + "nowhere\n" * 50)
    told = operator("sources", "import", file)
    assert told.code == 2
    assert told.err.count("  line ") == 20
    assert "  ... and 30 more; --json lists all of them" in told.err
    assert "Nothing was written. Mend the file.\n" in told.err
    assert len(operator("sources", "import", file, "--json").data["errors"]) == 50


def test_a_timeline_gets_the_owner_that_is_named(operator, deployed):
    rows = b"url,id,enabled\nhttps://x.com/someone,import-x,false\n"
    operator.well("sources", "import", "-", "--format", "csv", "--owner", "me", stdin=rows)
    (source,) = stored(deployed)
    assert (source.type, source.owner_id) == ("twitter", "me")


def test_an_id_that_another_source_has_is_told_and_the_rest_goes_on(operator, deployed):
    operator.well(
        "sources",
        "import",
        "-",
        "--format",
        "csv",
        stdin=f"url,id,enabled\n{url('a')},import-a,false\n".encode(),
    )
    rows = f"url,id,enabled\n{url('b')},import-a,false\n{url('c')},import-c,false\n".encode()
    told = operator("sources", "import", "-", "--format", "csv", stdin=rows)
    assert told.code == 1
    taken = f"  line 2: {url('b')}  The id import-a is taken by another source, {url('a')}. Name another id."
    assert taken in told.err
    assert "Added 1 source to" in told.out
    assert set(by_url(deployed)) == {url("a"), url("c")}


def test_ctrl_c_stops_in_the_middle_and_repeating_goes_on_from_there(operator, deployed, state_dir, tmp_path):
    file = a_list_of(MANY, tmp_path / "many.csv")
    process = subprocess.Popen(
        [COMMAND, "sources", "import", file, "--state-dir", state_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        eventually(lambda: len(stored(deployed)) >= 50)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    done = len(stored(deployed))
    assert 50 <= done < MANY
    assert (process.returncode, out) == (130, "")
    assert err == f"Stopped: {done:,} of {MANY:,} were added; repeating the import goes on from there.\n"

    again = operator.well("sources", "import", file, "--json").data
    assert (again["added"], again["there_already"]) == (MANY - done, done)
    found = [source.url for source in stored(deployed)]
    assert sorted(found) == sorted(url(place) for place in range(MANY)), "all of them, each once"


@pytest.fixture
def throttling(deployed):
    """The deployed stack behind a door that lets so many writes through and refuses the others."""
    host, _, port = deployed.stack.endpoint_url.removeprefix("http://").partition(":")

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("x-amz-target", "").endswith(".PutItem"):
                with self.server.lock:
                    self.server.left -= 1
                    refused = self.server.left < 0
                if refused:
                    self._answer(400, {"Content-Type": "application/x-amz-json-1.0"}, THROTTLED)
                    return
            behind = http.client.HTTPConnection(host, int(port), timeout=60)
            behind.request("POST", self.path, body, dict(self.headers))
            answer = behind.getresponse()
            self._answer(answer.status, dict(answer.getheaders()), answer.read())
            behind.close()

        def _answer(self, status, headers, body):
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in (
                    "content-length",
                    "transfer-encoding",
                    "connection",
                    "date",
                    "server",
                ):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    server.lock, server.left = threading.Lock(), 40
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_when_aws_throttles_it_stops_and_says_how_far_it_came(operator, deployed, throttling, tmp_path):
    file = a_list_of(300, tmp_path / "many.csv")
    through = ("--endpoint-url", throttling, "--region", deployed.stack.region)
    told = operator("sources", "import", file, *through)
    assert (told.code, told.out) == (5, "")
    stopped, why = told.err.splitlines()
    assert stopped == "Stopped: 40 of 300 were added; repeating the import goes on from there."
    assert "ProvisionedThroughputExceededException" in why
    assert len(stored(deployed)) == 40

    as_json = operator("sources", "import", file, "--json", *through)
    assert as_json.code == 5
    assert (as_json.data["added"], as_json.data["interrupted"]) == (0, True)
    assert operator.well("sources", "import", file, "--json").data["added"] == 260


SOURCES = [
    {"id": "import-plain", "url": url("a"), "config": {"cadence": {"mode": "always"}}, "enabled": False},
    {
        "id": "import-rich",
        "url": f"{url('b')}?key={SECRET}",
        "type": "website",
        "title": 'Say "so", twice;\nor =1',
        "enabled": True,
        "created_at": "2024-02-29T12:30:00.125Z",
        "config": {
            "cadence": every(3_000_000.5),
            "headers": {"X-Token": SECRET},
            "max_age_days": 0.1,
            "max_consecutive_failures": 0,
            "backfill": True,
        },
    },
    {
        "id": "import-x",
        "url": "https://x.com/someone",
        "type": "twitter",
        "owner": "me",
        "title": "=HYPERLINK(1)",
        "enabled": False,
        "config": {"cadence": {"mode": "activity", "steps": [{"idle_days": 0.5, "every_hours": 9}]}},
    },
]


@pytest.fixture
def varied(operator, deployed):
    """Sources of every kind, as they are stored."""
    operator.well("sources", "import", "-", "--format", "json", stdin=json.dumps(SOURCES).encode())
    return {source.source_id: kept(source) for source in stored(deployed)}


def kept(source):
    names = ("url", "type", "title", "owner_id", "enabled", "created_at", "config")
    return {name: getattr(source, name) for name in names}


def mine(path):
    """Leave in a file only what these tests wrote: other tests have sources in the stack as well."""
    text = path.read_text()
    if path.suffix == ".json":
        path.write_text(json.dumps([one for one in json.loads(text)["sources"] if "import-" in one["id"]]))
        return path
    rows = list(csv.reader(io.StringIO(text, newline="")))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            rows[:1] + [row for row in rows[1:] if any("import-" in cell for cell in row)]
        )
    return path


@pytest.mark.parametrize("name", ["all.json", "all.csv"])
def test_what_was_exported_and_removed_comes_back_the_same(operator, deployed, varied, tmp_path, name):
    told = operator.well("sources", "export", tmp_path / name, "--with-secrets")
    assert f" sources from the local cloud at {deployed.stack.endpoint_url} to {tmp_path / name}" in told.out
    assert "readable for you alone" in told.out
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    operator.well("sources", "remove", *varied, "--yes")
    assert stored(deployed) == []

    operator.well("sources", "import", mine(tmp_path / name))
    assert {source.source_id: kept(source) for source in stored(deployed)} == varied


def test_headers_stay_where_they_are_unless_they_are_asked_for(operator, varied, tmp_path):
    file = tmp_path / "all.json"
    told = operator.well("sources", "export", file)
    assert "were left out; --with-secrets writes them." in told.err
    (rich,) = [one for one in json.loads(file.read_text())["sources"] if one["id"] == "import-rich"]
    assert "headers" not in rich["config"]
    assert rich["url"] == f"{url('b')}?key={SECRET}", "a URL is of no use without its query"

    assert operator("sources", "export", file).code == 2
    operator.well("sources", "export", file, "--force", "--with-secrets")
    assert '"X-Token"' in file.read_text()
    assert [found.name for found in tmp_path.iterdir()] == ["all.json"]


def test_an_export_is_printed_in_the_order_of_ids(operator, varied):
    ids = [one["id"] for one in operator.well("sources", "export").data["sources"]]
    assert ids == sorted(ids) and set(varied) <= set(ids)
    lines = operator.well("sources", "export", "-", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids


def test_opml_is_written_and_says_what_it_does_not_hold(operator, varied, tmp_path):
    told = operator.well("sources", "export", tmp_path / "all.opml")
    assert "OPML holds URL, title and type alone: cadence, owner and settings of" in told.err
    assert "JSON and CSV hold them." in told.err
    text = (tmp_path / "all.opml").read_text()
    assert f'xmlUrl="{url("a")}"' in text and 'type="website"' in text and "X-Token" not in text


def test_a_source_that_cannot_be_written_is_named(operator, deployed, tmp_path):
    table = deployed.stack.outputs["SourcesTable"]
    deployed.dynamodb.put_item(TableName=table, Item={"source_id": {"S": "import-broken"}})
    told = operator("sources", "export", tmp_path / "all.json")
    assert told.code == 1
    assert "no readable URL" in told.err and "import-broken" in told.err
    assert "import-broken" not in (tmp_path / "all.json").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_an_output_that_is_full_is_told(state_dir, deployed):
    with Path("/dev/full").open("wb") as full:
        export = [COMMAND, "sources", "export", "--state-dir", state_dir]
        done = subprocess.run(export, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "It could not be written out: No space left on device.\n")


def test_whoever_reads_an_export_may_stop_early(operator, state_dir, tmp_path):
    operator.well("sources", "import", a_list_of(600, tmp_path / "many.csv"))
    export = subprocess.Popen(
        [COMMAND, "sources", "export", "--state-dir", state_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert export.stdout.read(10) == b'{"sources"'
    export.stdout.close()
    told = export.stderr.read().decode()
    export.stderr.close()
    assert export.wait(timeout=60) == 0
    assert "Traceback" not in told and "BrokenPipe" not in told
