package importer

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source wraps the subscriber for the router. When it ends, it stops delivery first and
// gives messages in progress the time to drain. With some subscribers the contexts of
// messages end with the subscription, with others never; source makes them the same.
type source struct {
	message.Subscriber
	work    context.Context // ends when the time to drain is over
	pumped  sync.WaitGroup  // subscriptions
	running sync.WaitGroup  // messages in progress
}

// Subscribe delivers the messages of the subscriber until ctx ends.
func (s *source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(s.work, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.pumped.Go(func() {
		s.pump(ctx, in, out)
		<-s.work.Done()       // before that the subscriber would claim further messages, only to get them back
		for msg := range in { // until the subscriber is closed
			msg.Nack()
		}
	})
	return out, nil
}

func (s *source) pump(ctx context.Context, in <-chan *message.Message, out chan<- *message.Message) {
	defer close(out)
	for order := int64(1); ; order++ {
		select {
		case <-ctx.Done():
			return
		case msg, ok := <-in:
			if !ok {
				return
			}
			msg.SetContext(context.WithValue(msg.Context(), orderKey{}, order))
			s.running.Add(1)
			select {
			case out <- msg:
			case <-ctx.Done():
				s.running.Done()
				msg.Nack()
				return
			}
		}
	}
}

// Close does nothing: the subscriber is closed when the work has ended.
func (s *source) Close() error { return nil }

// tracked cancels a message's context when the time to drain is over, and marks the
// message as ended once its handler returns.
func (s *source) tracked(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		defer s.running.Done()
		ctx, cancel := context.WithCancel(msg.Context())
		defer cancel()
		defer context.AfterFunc(s.work, cancel)()
		msg.SetContext(ctx)
		return next(msg)
	}
}
