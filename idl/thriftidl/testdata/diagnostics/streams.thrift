struct R {}
service S {
  R, stream<i32>, stream<i32> twice()
  stream<i32>, sink<i32, i32> wrong_order()
  stream<i32>, R last()
  stream<void> empty()
  sink<Nothing, i32> unknown()
  void fine()
}
