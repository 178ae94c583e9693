// Package gateway serves Thrift services over HTTP and JSON. From the schema
// of the services it compiles, once, a table of routes with a program for each
// by which a request's parts become arguments; per request it looks the route up,
// writes the arguments as Thrift, calls the backend and makes the result a reply.
//
// # Routes
//
// Every method answers POST /Service/method with a JSON object of its
// arguments. Annotations add routes: api.get, api.post, api.put, api.delete,
// api.patch, api.head, api.options and api.any, whose value is a path such as
// /v1/items/:id or /files/*name. ":id" stands for one segment that is not
// empty, "*name" for the rest, which may be empty. Routes of a method that
// several services inherit call the first of them. A plain segment goes before
// ":id", which goes before "*name"; a method's own route before api.any.
//
// # Where arguments come from
//
// An argument, or a field of a request struct, is read from the first of
// these that the request has, as far as annotations name them: api.path,
// api.query, api.header, api.cookie, api.form, api.body; api.raw_body and
// api.raw_uri take the body or the request's URI as they stand. api.body with
// an empty value means the whole body, with a name that key of the body's JSON
// object. api.none leaves a field out. Without annotation a value comes from
// the path if the route has a segment of its name, else from the query (GET,
// HEAD, DELETE, OPTIONS) or from the body's key of its name.
// A struct is a request struct, whose fields are read one by one, if it is the
// only argument or if one of its fields, or of the structs in it, has such an annotation.
//
// A list or set in a path, query, header, cookie or form repeats or is split at
// commas; a struct or map there is JSON text. A form is
// application/x-www-form-urlencoded or multipart/form-data, without its files; on routes that take one, its fields stand for the keys of a body.
// A query or urlencoded form has at most 10,000 pairs.
//
// On routes of annotations, names in JSON are those that api.key, go.tag and their like give, and
// api.js_conv and its like change values, as package transcode says, whose options [Conversion]
// and [Mapping] pass on. POST /Service/method has the schema's own names and values both ways.
//
// # Replies
//
// The result is sent as JSON with status 200 or the method's api.http_code,
// without content as 204, and a oneway call as 202. On routes of annotations, fields of the result go
// to the status, header, cookies or raw body where [transcode.AnnotatedReplyParts] says so. A declared exception has
// the api.http_code of the throws clause's field or of the exception; without
// one it has 422, or 500 if it is fbthrift's server exception, or 503 if that is
// transient. Every error is a problem document of RFC 9457: see [Problem].
//
// GET / lists the services as JSON, each method with an example of its arguments; with [Explorer]
// browsers get a page there, on which methods are called. Methods that stream are left out.
//
// The package reads no IDL: its caller gives it a schema.
package gateway
