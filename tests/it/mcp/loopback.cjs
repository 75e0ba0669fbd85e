// Purpose: makes a server that binds all interfaces bind a free port of the loopback one, and say which.
"use strict";
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  this.once("listening", () => console.log(`port ${this.address().port}`));
  const ready = rest.filter((argument) => typeof argument === "function");
  return listen.call(this, { port: 0, host: "127.0.0.1" }, ...ready);
};
