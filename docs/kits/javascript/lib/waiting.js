/** Lets tasks wait for each other until the kit stops. */

'use strict';

class Waiting {
  isStopped = false;
  #resolvers = new Set();

  wake() {
    for (const resolve of this.#resolvers) resolve();
  }

  stop() {
    this.isStopped = true;
    this.wake();
  }

  /** Resolves at the next `wake`, or after so many milliseconds. @param {number} [most] @returns {Promise<void>} */
  next(most) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#resolvers.delete(done);
        resolve();
      };
      const timer = most === undefined ? undefined : setTimeout(done, most);
      this.#resolvers.add(done);
    });
  }

  /** Waits so many milliseconds, less if `isEnough` or the kit stops. @param {number} most @param {() => boolean} isEnough */
  async pause(most, isEnough = () => false) {
    const end = Date.now() + most;
    while (Date.now() < end && !this.isStopped && !isEnough()) await this.next(end - Date.now());
  }
}

module.exports = { Waiting };
