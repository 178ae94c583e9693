const string X = "x
const i32 Y = 3
