package engine

import (
	"os"

	"annals/projections/embeddings"
	"annals/projections/generation"

	"github.com/spf13/pflag"
)

// EmbeddingsKey is the environment variable with the key of the embeddings endpoint.
const EmbeddingsKey = "ANNALS_EMBEDDINGS_KEY"

// BindEmbeddings binds the flags with the endpoint that makes vectors.
func (u *URLs) BindEmbeddings(flags *pflag.FlagSet) {
	flags.StringVar(&u.Embeddings.URL, "embeddings", "", "URL of an endpoint with the embeddings API of OpenAI, such as https://host/v1, with which searches also find passages that say the same in other words; it receives the texts of all documents; its key is in "+EmbeddingsKey+" (default: none)")
	flags.StringVar(&u.Embeddings.Model, "embeddings-model", "", "name of the embeddings model at the endpoint; after a change, run annals rebuild vectors (required with --embeddings)")
	flags.IntVar(&u.Embeddings.Dimensions, "embeddings-dimensions", 0, "number of dimensions of the model's vectors, a multiple of 8 (required with --embeddings)")
}

// Embedder adds the client of the embeddings endpoint to o, if there is an endpoint, and
// returns it. The client calls observe, unless that is nil, after each request.
func (u URLs) Embedder(o *generation.Options, observe func(embeddings.Request)) *embeddings.Client {
	if !u.Embeddings.On() {
		return nil
	}
	u.Embeddings.Key = os.Getenv(EmbeddingsKey)
	client := embeddings.New(u.Embeddings, observe)
	o.Embedder = client
	return client
}
