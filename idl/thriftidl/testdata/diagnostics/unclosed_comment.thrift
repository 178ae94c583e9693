struct A {}
/* the rest of the file
struct B {}
