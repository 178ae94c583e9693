struct Größe {
  1: i32 naïve
  2: i32 ok $ 
  3: i32 3rd
}
const i32 HEX = 0xZZ
const i64 BIG = 0xFFFFFFFFFFFFFFFF
const i64 HUGE = 99999999999999999999
const double FAR = 1e999
const i32 DOTTED.NAME = 1
@Note
namespace go late
const i32 END = 1 ¿
