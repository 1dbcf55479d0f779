// Sets the clock of a page to the moment of its capture, from which it runs on, and makes Math.random repeatable.
// `captured` is in milliseconds since 1970. The text has no less-than sign and no ampersand, so that it fits into XML.
((captured) => {
  const Real = Date;
  const real = Real.now.bind(Real);
  const offset = captured - real();
  const now = () => real() + offset;
  const Clock = new Proxy(Real, {
    construct: (target, given, made) =>
      Reflect.construct(target, given.length ? given : [now()], made === Clock ? target : made),
    apply: () => new Real(now()).toString(),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  Real.prototype.constructor = Clock;
  globalThis.Date = Clock;
  let state = captured % 4294967296 | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
})(CAPTURED);
