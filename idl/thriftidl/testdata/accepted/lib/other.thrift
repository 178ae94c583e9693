const i64 LIMIT = 1000
struct Thing { 1: string text }
