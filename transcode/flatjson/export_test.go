package flatjson

// MaxMessage limits the message made of JSON, so that tests need no large one.
func MaxMessage(bytes int) Option { return option(func(o *options) { o.maxMessage = bytes }) }
