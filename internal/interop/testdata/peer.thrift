// The bookshop as the peers that forward calls know it: with a method that no
// server has, so that their generated clients can call it.
include "../../../examples/shop/shop.thrift"

service Peer extends shop.Shop {
  void fly()
}
