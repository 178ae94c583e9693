include "base.thrift"
include "more.thrift"
namespace go golden.types

/** A colour, of which two names mean the same. */
enum Color {
  RED = 1,      // as a rose
  GREEN,
  CRIMSON = 1
  BLUE = -7
}
enum Empty {}

typedef list<Item> Items
typedef Item Thing
typedef Color Hue
typedef map<string, i32> Counts
typedef binary Blob
typedef base.Place Spot

const string GREETING = "hi \"there\"\n`'"
const i64 BIG = 9223372036854775807
const double PI = 3
const bool YES = true
const Color FAVOURITE = Color.BLUE
const base.UserId ROOT = 5
const map<string, list<i32>> TABLE = {"a": [1, 2], "b": []}
const map<Color, string> BY_COLOR = {Color.RED: "first", Color.CRIMSON: "last"}
const set<string> LETTERS = ["x", "y", "x"]
const Item DEFAULT_ITEM = {"id": 3, "color": Color.BLUE, "maybe": 7}
const Blob BYTES = "\x00\xff"
const uuid NIL_UUID = "00000000-0000-0000-0000-000000000000"

/** Every kind of field. */
struct Item {
  1: required i64 id
  /** the name */
  2: optional string name = "none"
  3: Color color = Color.GREEN
  4: optional i16 maybe
  5: list<Item> kids
  6: optional map<string, base.Place> places
  7: binary data
  8: optional binary raw = "abc"
  9: set<base.Level> levels
  10: base.UserId owner
  11: optional base.UserId owner2
  12: Items items
  13: Counts counts = {"a": 1}
  14: base.Place place = {"lat": 2.5}
  15: optional bool flag = true
  16: optional i8 small
  17: list<i8> bytes
  18: map<Spot, Hue> by
  19: optional Thing thing
  20: optional Hue hue = Color.RED
  21: double d = 1
  22: list<binary> blobs
  23: map<binary, i32> by_bytes
  24: optional list<i32> numbers = [1, 2]
  25: base.Level level = base.Level.HIGH
  26: i32 limit = base.MAX
  27: optional double od = -1.5e300
  28: Blob blob
  29: list<string> words = base.WORDS
  30: optional base.Place spot
  31: optional Color shade
  32: map<i32, map<string, list<set<Color>>>> nested
  33: uuid key
  34: optional uuid other
  35: float ratio = 0.25
  36: more.Route route
  37: map<bool, double> odds = {true: 0.5}
  38: byte tiny
}

union Choice {
  1: i64 number
  2: string text
  3: Item item
  4: list<Choice> choices
  5: binary data
}

exception NotFound { 1: required string what, 2: optional Color color = Color.RED }
exception Empties {}

struct Nothing {}

service Store extends more.Routes {
  /** Gets an item. */
  Item get(1: i64 id) throws (1: NotFound missing, 2: base.Broken broken)
  oneway void forget(1: i64 id, 2: Color color)
  void put(1: Item item, 2: base.Place place, 3: optional i32 times = 2)
  list<Item> all()
  binary raw(1: map<string, list<i64>> query)
  Color color(1: Choice choice) throws (1: NotFound a, 2: NotFound b)
  uuid key(1: uuid of)
  bool check(1: bool a, 2: i8 b, 3: i16 c, 4: i32 d, 5: double e, 6: string f, 7: set<i64> g, 8: Thing h)
}
