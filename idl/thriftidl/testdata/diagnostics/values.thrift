enum Color { RED, GREEN }
enum Size { SMALL }
struct Point { 1: i32 x, 2: i32 y, 3: optional Point next }
union Choice { 1: i32 a, 2: string b }
typedef i8 Tiny
typedef list<Tiny> Bytes

const i8 A = 128
const Tiny B = -129
const i16 C = 40000
const i32 D = 0x80000000
const float E = 1e39
const i32 F = 1.5
const i32 G = "one"
const string H = 1
const string I = [1]
const bool J = "true"
const Color K = "RED"
const Color L = Size.SMALL
const Color M = 4294967296
const uuid N = "not-a-uuid"
const list<i32> O = {1: 2}
const map<string, i32> P = ["a", 1]
const Bytes Q = [1, 2, 300, "x"]
const map<Tiny, string> R = {1: "a", 200: "b", 3: 4}
const Point S = {"x": 1, "z": 2, "y": "three"}
const Point T = {"x": 1, "x": 2}
const Point U = {1: 2}
const Choice V = {"a": 1, "b": "two"}
const Point W = Color{x = 1}
const Point X = Nowhere{x = 1}
const i32 SELF = OTHER
const i32 OTHER = SELF
const i64 WIDE = 1000
const Tiny NARROW = WIDE
const string TEXT = WIDE
const list<i64> WIDES = [1, 1000]
const list<Tiny> NARROWS = WIDES
const Point DEEP = {"next": {"next": {"y": 1.5}}}

struct Defaults {
  1: i32 a = "text"
  2: Color b = BLUE
  3: list<string> c = [1]
  4: Tiny d = WIDE
}

@Color
struct Noted {}
@Point{w = 1}
struct Noted2 {}
