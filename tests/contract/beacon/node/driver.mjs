// Official JavaScript clients, driven line by line from a test: one JSON object per line in and out.
//
//   in   {"call": n, "client": "a", "do": "subscribe", ...}    a step to take, or the token that was asked for
//   out  {"call": n, "result": ...} or {"call": n, "error": {"code", "message"}}
//   out  {"client": "a", "event": "subscribed", "channel": ...}

import { createInterface } from 'node:readline';
import { Centrifuge } from 'centrifuge';
import WebSocket from 'ws';

const clients = new Map();
const wanted = new Map();
let tokens = 0;

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

function openClient(name, { url, token, renews }) {
  const options = { token, websocket: WebSocket, minReconnectDelay: 20, maxReconnectDelay: 100, timeout: 5000 };
  if (renews) {
    options.getToken = () => new Promise((resolve) => {
      wanted.set(++tokens, resolve);
      say({ client: name, event: 'token', number: tokens });
    });
  }
  const client = new Centrifuge(url, options);
  for (const event of ['connecting', 'connected', 'disconnected']) {
    client.on(event, (ctx) => say({ client: name, event, code: ctx.code }));
  }
  client.on('error', (ctx) => say({ client: name, event: 'error', code: ctx.error.code }));
  listen(name, client, 'server_');
  clients.set(name, client);
}

function listen(name, source, prefix, channel) {
  const tell = (event, ctx, more) => say({ client: name, event: prefix + event, channel: channel ?? ctx.channel, ...more });
  source.on('subscribed', (ctx) => tell('subscribed', ctx, { recovered: ctx.recovered, data: ctx.data ?? null }));
  source.on('publication', (ctx) => tell('publication', ctx, { data: ctx.data }));
  source.on('join', (ctx) => tell('join', ctx, { user: ctx.info.user }));
  source.on('leave', (ctx) => tell('leave', ctx, { user: ctx.info.user }));
  source.on('unsubscribed', (ctx) => tell('unsubscribed', ctx, { code: ctx.code }));
}

function subscribe(name, client, channel) {
  let subscription = client.getSubscription(channel);
  if (!subscription) {
    subscription = client.newSubscription(channel);
    listen(name, subscription, '', channel);
  }
  subscription.subscribe();
}

async function take({ client: name, do: step, ...given }) {
  if (step === 'open') return openClient(name, given);
  const client = clients.get(name);
  switch (step) {
    case 'connect': return client.connect();
    case 'disconnect': return client.disconnect();
    case 'subscribe': return subscribe(name, client, given.channel);
    case 'unsubscribe': return client.getSubscription(given.channel).unsubscribe();
    case 'publish': return void (await client.publish(given.channel, given.data));
    case 'rpc': return (await client.rpc(given.method, given.data)).data;
    case 'presence': return users((await client.presence(given.channel)).clients);
    case 'presence_stats': return stats(await client.presenceStats(given.channel));
    case 'history': return page(await client.history(given.channel, given.asked));
    default: throw new Error(`no such step: ${step}`);
  }
}

const users = (found) => Object.values(found).map((info) => info.user).sort();
const stats = ({ numClients, numUsers }) => [numClients, numUsers];
const page = ({ publications, offset, epoch }) => ({ data: publications.map((one) => one.data), offset, epoch });

for await (const line of createInterface({ input: process.stdin })) {
  const { call, token, ...step } = JSON.parse(line);
  if (step.number !== undefined) {
    wanted.get(step.number)(token);
    continue;
  }
  take({ token, ...step })
    .then((result) => say({ call, result: result ?? null }))
    .catch(({ code, message }) => say({ call, error: { code: code ?? 0, message } }));
}
process.exit(0);
