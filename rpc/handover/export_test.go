package handover

// ActivatedFrom is Activated for sockets from another descriptor on.
var ActivatedFrom = activated
