proof.done('side');
