package forward

import "context" // replaced by the endpoint.health part

// Healthy is replaced.
func (c *Client) Healthy(context.Context) error { return nil }
