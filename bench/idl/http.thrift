// Requests and replies of the transcode suite, for the works of HTTP.

struct Line {
    1: i64 book,
    2: i32 quantity,
    3: string note,
}

struct SmallRequest {
    1: i64 id (api.path = "id"),
    2: i32 page (api.query = "page"),
    3: list<string> tags (api.query = "tags"),
    4: string agent (api.header = "X-Agent"),
    5: string session (api.cookie = "session"),
    6: string title,
    7: double price,
}

struct MediumRequest {
    1: i64 id (api.path = "id"),
    2: string shop (api.path = "shop"),
    3: i32 page (api.query = "page"),
    4: bool all (api.query = "all"),
    5: double least (api.query = "least"),
    6: list<i64> numbers (api.query = "numbers"),
    7: list<string> tags (api.query = "tags"),
    8: string agent (api.header = "X-Agent"),
    9: i64 revision (api.header = "X-Revision"),
    10: string session (api.cookie = "session"),
    11: string title,
    12: list<Line> lines,
    13: map<string, string> notes,
    14: list<i64> ids,
    15: string text,
}

struct SmallReply {
    1: i32 status (api.http_code = "status"),
    2: string etag (api.header = "Etag"),
    3: i64 visits (api.cookie = "visits"),
    4: string title,
    5: double price,
}

struct MediumReply {
    1: i32 status (api.http_code = "status"),
    2: string etag (api.header = "Etag"),
    3: i64 revision (api.header = "X-Revision"),
    4: bool last (api.header = "X-Last"),
    5: i64 visits (api.cookie = "visits"),
    6: string session (api.cookie = "session"),
    7: string title,
    8: list<Line> lines,
    9: map<string, string> notes,
    10: list<i64> ids,
    11: string text,
}

service Parts {
    SmallReply small(1: SmallRequest value)
    MediumReply medium(1: MediumRequest value)
}
