/* Routes and arguments of every kind, for the gateway's tests. */

enum Color { RED = 1, GREEN = 2 }

struct Size { 1: required i32 width, 2: i32 height = 1 }

struct Node { 1: string name, 2: optional Node next }

union Choice { 1: i32 number, 2: string text }

exception Missing { 1: string key, 2: string message } (api.http_code = "404")
exception Busy { 1: i32 seconds }
exception Fatal { 1: string text } (message = "text")

server exception Broken { 1: i32 code }
transient server exception Restarting { 1: i32 code }

/** A request struct with parts from everywhere. */
struct Update {
  1: required i64 id (api.path = "id")
  2: optional i32 revision (api.query = "rev", api.header = "X-Revision")
  3: optional string session (api.cookie = "session")
  4: optional string title
  5: optional Size size (api.body = "dimensions")
  6: optional Paging paging
  7: optional bool trusted (api.none = "")
  8: optional list<string> tags (api.query = "tag", api.body = "tags")
}

struct Paging { 1: i32 page = 1 (api.query = "page"), 2: optional i32 per (api.query = "per") }

struct Plain { 1: string a, 2: i8 b }

service Base {
  string hello() (api.get = "/hello")
}

service Items extends Base {
  string get(1: i64 id (api.path = "id")) throws (1: Missing missing, 2: Busy busy (api.http_code = "503"), 3: Fatal fatal,
    4: Broken broken, 5: Restarting restarting)
    (api.get = "/items/:id", api.head = "/heads/:id")
  string fixed() (api.get = "/items/fixed")
  string file(1: string name (api.path = "name")) (api.get = "/files/*name")
  string scalars(1: bool flag, 2: i8 tiny, 3: i64 large, 4: double ratio, 5: string text, 6: binary data, 7: Color color)
    (api.get = "/scalars")
  string lists(1: list<i32> numbers, 2: set<Color> colors, 3: list<string> words (api.header = "X-Words"), 4: map<string, i32> counts, 5: Size size, 6: list<Size> sizes)
    (api.get = "/lists")
  string update(1: Update update) (api.put = "/items/:id", api.any = "/any/:id")
  string body(1: string who (api.header = "X-Who"), 2: Plain plain (api.body = "")) (api.post = "/body")
  string keys(1: string a, 2: i32 b, 3: Choice choice) (api.post = "/keys")
  string form(1: string name (api.form = "name", api.body = "name"), 2: list<i32> numbers (api.form = "n")) (api.post = "/form")
  string raw(1: binary data (api.raw_body = ""), 2: string uri (api.raw_uri = "")) (api.post = "/raw")
  string node(1: Node node) (api.post = "/node")
  void clear(1: i64 id (api.path = "id")) (api.delete = "/items/:id")
  oneway void ping(1: string text) (api.post = "/ping")
  Size created() (api.post = "/created", api.http_code = "201")
  Node tree() (api.get = "/tree")
}
