/**
 * The file itself: what stands before the first header belongs to it.
 */

namespace go demo.everything
namespace * demo
namespace cpp2 "demo::everything" (note = "quoted")
namespace py.twisted demo.tw
cpp_include "<vector>"
include "lib/shared.thrift"
include "lib/other.thrift" as renamed

# A comment in the style of Unix.
// A comment in the style of C++.
/* A comment in the style of C. */
/***************** a row of stars *****************/

/** An id
    on two lines. */
typedef i64 ( js.type = "Long", cpp.template ) Id (typedef.note = "t")
typedef list<Id> Ids;
typedef map<string, set<Color>> Palettes,
typedef binary (bare) Blob

const bool YES = true, const bool ONE = 1;
const byte SMALL = -128
const i16 HEX = 0x7fFF
const i32 NEGATIVE_HEX = -0x80000000
const i64 BIG = 9223372036854775807
const i64 LEAST = -9223372036854775808
const i32 PLUS = +7
const double PI = 3.14
const double POINT = .5
const double EXP = 1e-3
const double EXP2 = -2.5E+10
const double WHOLE = 3
const string SINGLE = 'it"s'
const string DOUBLE = "it's"
const string ESCAPES = "tab\t quote\" slash\\ line\n return\r apostrophe\' "
const string CODES = "\x41\u00e9\u4e16"
const string UNICODE = "Grüße, 世界 🌍"
const binary BYTES = "raw"
const uuid KEY = "{01234567-89AB-CDEF-0123-456789abcdef}"
const Color FAVOURITE = Color.GREEN
const i32 NUMBER_OF_GREEN = Color.GREEN
const Color BY_NUMBER = 5
const Color ALIASED = FAVOURITE
const i64 FORWARD = LATER
const i32 LATER = 42
const i64 ELSEWHERE = shared.LIMIT
const i64 RENAMED = renamed.LIMIT
const shared.Level LEVEL = shared.Level.HIGH
const list<i32> EMPTY = []
const list<i32> LIST = [1, 2; 3 4,]
const set<string> SET = ["a", "b"]
const map<i32, string> MAP = {1: "one", 2: "two"; 3: "three" 4: "four",}
const map<string, list<map<i32, double>>> NESTED = {"a": [{1: 2}, {}], "b": []}
const set<i32> EMPTY_SET = {}
const map<i32, i32> EMPTY_MAP = []
const map<Color, Id> BY_COLOR = {Color.RED: 1, Color.GREEN: shared.LIMIT}
const Point ORIGIN = {"x": 0, "y": LATER}
const Point NAMED = Point{x = 1, y = 2}
const Line LINE = {"from_": ORIGIN, "to": {"x": 3, "y": 4}}
const list<double> CONVERTED = LIST
const Choice CHOICE = {"number": 3}
const Failure FAILURE = {"code": 1}

/** Colours. */
enum Color {
  RED      /// not a doc of RED but of what follows
  GREEN = 5 (deprecated)
  /** After five comes six. */
  BLUE; ///< the sky
  LOWER = -1, ZERO
  HEX = 0x10
} (enum.note = "e")

enum Empty {}

struct Nothing {}

struct Point xsd_all {
  1: i32 x = 1 xsd_optional xsd_nillable,
  2: i32 y xsd_attrs { 1: string unit } (y.note = "y");
} (struct.note = "s", twice = "1", twice = "2")

/** Fields of every kind. */
struct Everything {
  1: bool a
  2: byte b
  3: i8 c
  4: i16 d
  5: i32 e
  6: i64 f
  7: double g
  8: float h
  9: string i
  10: binary j
  11: uuid k
  12: Color l
  13: list<string> m
  14: set<i32> n
  15: map<string, list<Point>> o
  16: Point p
  17: shared.Thing q
  18: renamed.Thing r
  19: Ids s
  20: Palettes t
  21: optional Everything itself
  22: required i32 needed
  23: optional string with_default = "x" (field.note = 'f')
  24: list cpp_type "std::deque" <i32> cpp
  25: map<i32, string> (map.note = "m") noted
  26: Everything & reference
  27: list<i32 (elem.note = "e")> elems
  28: Nothing (use.note = "u") used
  29: Color colour = Color.RED
  30: Point point = {"y": 3}
  31: list<Point> points = [{"x": 1}, ORIGIN]
  32: map<Color, list<Id>> table = {Color.RED: [1, LATER]}
  33: i64 limit = shared.LIMIT
  34: double rate = 1
  35: string text = DOUBLE
  36: Ids ids = [BIG]
  // Names that are words of the grammar.
  40: i32 namespace
  41: i32 list
  42: string string
  43: i32 required
  44: optional i32 optional
  45: i32 stream
  46: i32 sink
  47: i32 package
  48: i32 service
  49: i32 true
  32767: i32 last
}

typedef i32 stream_

union Choice {
  1: i32 number
  2: string text = "default" // one default is fine
  3: Choice itself
}

exception Failure {
  1: i32 code
  /** what happened */
  2: string message
} (exception.note = "x")

service Empty_ {}

/** The base. */
service Base extends shared.Root {
  void ping(),
  i32 add(1: i32 a, 2: i32 b = 3);
  oneway void shout(1: string what)
  Point find(1: required Id id 2: list<string> tags) throws (1: Failure failure, 2: shared.Lost lost) (api.get = "/find/:id", retry)
  void fail() throws (1: Failure failure)
} (service.note = "v")

service Derived extends Base {
  /// A comment of one line
  /// and of another.
  map<string, Point> all()
  list<i32> (result.note = "r") many()
}

struct Line {
  1: Point from_
  2: Point to
}
