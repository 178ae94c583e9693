// Package callctx holds the context of a call that a client has given a time
// limit, or may give up itself. Package context's own contexts cost a channel, a timer
// and an entry with their parent, for each call, and mostly for nothing: these
// cost a piece of memory, and the rest once somebody asks for the channel.
//
// It knows nothing of calls but that somebody waits for their end.
package callctx
