// What older compilers took, and what thriftgo takes. All of it warns.
php_namespace Demo
java_package com.example.demo
senum Kind { "one", "two" };

struct Auto {
  i32 first
  optional string second
  9: i32 third
  bool fourth
}

struct uuid { 1: string text }
struct float { 1: i32 bits }

struct Uses {
  1: uuid id
  2: float number
  3: Kind kind
}

service S {
  async void fire()
  void noids(i32 a, string b) throws (E e)
}

exception E { string why }

const string PATTERN = "^\d{3}\.\w+$"
