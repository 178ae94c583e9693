struct A {
  1: i32 a (x = y)
  2: i32 b (= "z")
  3: i32 c (open = "q"
}
struct B {} (fine)
@
struct C {}
