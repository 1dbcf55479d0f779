// Tools for scripts after brozzler's contract.
tools => {
  'use strict';
  const MOST_LINKS = 5000;

  /* Run a script as a page's own script would run, so that its names are global. */
  tools.evaluateScript = source => { (0, eval)(source); };

  /* Return whether the script is finished, with the links that it found. */
  tools.isUmbraFinished = () => {
    const answer = typeof window.umbraBehaviorFinished === 'function' ? window.umbraBehaviorFinished() : true;
    const links = answer && typeof answer === 'object' && answer.outlinks ? [...answer.outlinks] : [];
    const isFinished = answer && typeof answer === 'object' ? Boolean(answer.finished) : Boolean(answer);
    return {isFinished, outlinks: links.slice(0, MOST_LINKS).map(String)};
  };
}
