const string LATIN = "café"
const i32 BAD = ÿ 1
