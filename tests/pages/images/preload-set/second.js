proof.done('module');
