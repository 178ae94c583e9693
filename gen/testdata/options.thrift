// What options and annotations change.
namespace go golden.options

enum Color { RED = 1, BLUE = 2 }

struct Point { 1: i32 x, 2: optional i32 y }

typedef i64 Delay (go.type = "time.Duration")

struct All {
  1: i64 id (go.tag = 'json:"ident" yaml:"id"')
  2: optional string name = "none" (go.tag = "db:\"n\"")
  3: list<Point> points
  4: map<string, Point> by_name = {"origin": {"x": 0, "y": 1}}
  5: map<Point, list<Color>> by_point
  6: binary raw (go.type = "encoding/json.RawMessage")
  7: Delay delay = 5
  8: optional Delay wait
  9: map<string, list<string>> query (go.type = "net/url.Values")
  10: binary large (go.nocopy)
  11: Color color = Color.BLUE
  12: string url (go.name = "URL")
  13: optional All next
  14: list<list<Point>> nested
  15: optional list<i32> numbers
  16: set<binary> keys
  17: map<Color, map<i32, binary>> deep
  18: optional Color maybe
  19: double ratio
  20: map<Point, i32> counts
} (go.name = "Everything")

union Either { 1: Point left, 2: i64 right }

service Options {
  list<Point> points(1: Delay delay, 2: list<Point> points) (go.name = "AllPoints")
}
