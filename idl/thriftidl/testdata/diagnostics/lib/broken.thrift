struct B {
  1: i32
}
