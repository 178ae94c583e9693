struct Deep { 1: i32 a (api.path = "nowhere") }

exception Odd { 1: i32 a } (api.http_code = "200")

service A {
  void one(1: i32 id (api.path = "id")) (api.get = "/a/:id")
  void two(1: i32 key (api.path = "key")) (api.get = "/a/:key")
  void three() (api.get = "a")
  void four(1: string x (api.path = "y")) (api.get = "/four/:x")
  void five() (api.get = "/five/*rest/more")
  void six() throws (1: Odd odd)
  void seven(1: i32 n (api.raw_body = "")) (api.post = "/seven")
  void eight() (api.post = "/A/one")
  void nine() (api.get = "/:x/:x")
  string eleven() (api.get = "/eleven", api.http_code = "204")
  void ten(1: Deep deep) (api.get = "/ten")
}
