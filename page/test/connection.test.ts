/** The connection to the daemon: what is silent is lost, and nothing that was sent acts late. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Connection } from "../src/connection";
import type { Link } from "../src/connection";
import { FakeSocket, asked, endBrowser, pass, settle, sleep, startBrowser } from "./browser";

let links: [Link, number][];

function connected(aheadS = 0): Connection {
  const connection = new Connection({
    link: (link, sinceMs) => links.push([link, sinceMs]),
    hello: () => undefined,
    daemon: () => undefined,
    report: () => undefined,
    telemetry: () => undefined,
  });
  connection.connect();
  FakeSocket.last.greet(aheadS);
  return connection;
}

const last = () => links.at(-1)![0];

beforeEach(() => {
  links = [];
  startBrowser();
});
afterEach(endBrowser);

test("a daemon that stands still is reported as lost within 3 s, with the time of its last message", async () => {
  connected();
  await pass(700);
  FakeSocket.last.beat();
  const lastMessage = Date.now();
  await pass(2400);
  assert.equal(last(), "connected");
  await pass(600);
  assert.deepEqual(links.at(-1), ["lost", lastMessage]);
});

test("a daemon that sends a message each second stays connected", async () => {
  connected();
  for (let second = 0; second < 60; second++) {
    await pass(1000);
    FakeSocket.last.beat();
  }
  assert.deepEqual(links.map(([link]) => link), ["connected"]);
});

test("a lost connection is reported and tried again though no HTTP request is answered", async () => {
  connected();
  await pass(3000);
  assert.deepEqual(asked.map(({ url }) => url), ["/api/robots"]);
  const before = FakeSocket.all.length;
  await pass(20_000);
  assert.ok(FakeSocket.all.length > before + 2);
  assert.equal(last(), "lost");
  FakeSocket.last.greet();
  assert.equal(last(), "connected");
});

test("a connection that the daemon closes is lost at once", () => {
  connected();
  FakeSocket.last.lose();
  assert.equal(last(), "lost");
});

test("after a sleep of the machine the connection is lost, unless a message has waited", async () => {
  connected();
  await pass(500);
  sleep(60_000);
  await pass(300);
  FakeSocket.last.beat(); // it has waited in the system
  await pass(1000);
  assert.equal(last(), "connected");
  sleep(60_000);
  await pass(600);
  assert.equal(last(), "lost");
});

test("a clock that is set back does not hide a silent daemon", async () => {
  connected();
  await pass(500);
  const socket = FakeSocket.last;
  const real = Date.now;
  Date.now = () => real() - 3_600_000;
  await pass(3500);
  Date.now = real;
  assert.notEqual(FakeSocket.last, socket);
  assert.equal(last(), "lost");
});

test("a daemon that wants a token is shown the login, and is not asked again until then", async () => {
  connected();
  FakeSocket.last.lose();
  asked[0]!.answer(401);
  await settle();
  assert.equal(last(), "login");
  const before = FakeSocket.all.length;
  await pass(20_000);
  assert.equal(FakeSocket.all.length, before);
});

test("what is no stop expires, by the daemon's clock, when the connection would be lost", async () => {
  const connection = connected(7200);
  const lastMessage = Date.now();
  await pass(2300);
  void connection.ask("arm", "play", { motion: "wave" });
  const [play] = FakeSocket.last.requests;
  assert.equal(play!["body"].expires_at, lastMessage / 1000 + 7200 + 2.5);
});

test("without a connection a stop alone is sent", async () => {
  const connection = connected();
  FakeSocket.last.lose();
  asked.length = 0;
  assert.equal((await connection.ask("arm", "play", { motion: "wave" })).error, "play: the connection is lost; nothing was sent");
  void connection.ask("arm", "stop");
  assert.deepEqual(asked.map(({ url }) => url), ["/api/robots/arm/stop"]);
});

test("a stop never expires, and is sent by HTTP too where the daemon does not answer", async () => {
  const connection = connected();
  const answer = connection.ask("arm", "stop");
  assert.equal("expires_at" in FakeSocket.last.requests[0]!["body"], false);
  await pass(800);
  assert.deepEqual(asked.map(({ url }) => url), ["/api/robots/arm/stop"]);
  asked[0]!.answer(200, { status: "ok", data: {} });
  assert.equal((await answer).status, "ok");
});

test("requests that wait for an answer fail when the connection is lost", async () => {
  const connection = connected();
  const answer = connection.ask("arm", "play", { motion: "wave" });
  await pass(3000);
  assert.deepEqual(await answer, { status: "error", code: "OFFLINE", error: "play: the connection was lost before an answer came", data: {} });
});
