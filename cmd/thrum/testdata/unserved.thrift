// A service that the bookshop does not have.
service Parcels {
  i32 track()
}
