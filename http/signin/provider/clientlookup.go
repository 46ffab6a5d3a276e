package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// errNoClient is the error for an unknown client_id.
var errNoClient = oauth.Errorf("invalid_client", "the client is not registered, or its registration has expired; register it again")

// client returns the client with an id. The error is errNoClient if there is none. If the id
// is the URL of a metadata page that is invalid, it is another oauth.Error.
func (p *Provider) client(ctx context.Context, id string) (clients.Client, error) {
	switch {
	case id == clients.CLIID:
		return clients.CLI, nil
	case id == clients.ConsoleID:
		return p.console, nil
	case id == p.issuer.Audience() || id == p.issuer.Tools(): // ID tokens for such a client would be accepted as access tokens
		return clients.Client{}, errNoClient
	case clients.IsPage(id):
		return p.clientPages.Get(ctx, id)
	}
	metadata, found, err := p.accounts.Client(ctx, id)
	if err != nil {
		return clients.Client{}, err
	}
	if !found {
		return clients.Client{}, errNoClient
	}
	c := clients.Client{ID: id}
	if err := json.Unmarshal(metadata, &c.Metadata); err != nil {
		return clients.Client{}, fmt.Errorf("decode the metadata of a client: %w", err)
	}
	return c, nil
}

// checkClient returns an error if there is no client with an id. It does not fetch metadata
// pages.
func (p *Provider) checkClient(ctx context.Context, id string) error {
	if id == clients.CLIID || id == clients.ConsoleID || clients.IsPage(id) {
		return nil
	}
	_, found, err := p.accounts.Client(ctx, id)
	if err == nil && !found {
		err = errNoClient
	}
	return err
}
