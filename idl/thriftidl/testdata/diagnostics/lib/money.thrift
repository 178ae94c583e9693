struct Amount { 1: i64 units }
const i64 CENT = 1
